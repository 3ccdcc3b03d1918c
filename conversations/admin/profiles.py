"""Administration page of model profiles: connection, window, prices and abilities, with a connection test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.cache import cache
from django.core.validators import MinValueValidator
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from conversations.llm.pasted import pasted_address, pasted_key
from conversations.llm.probes.connection_test import ConnectionTest, test_connections
from conversations.llm.windows import window_words, windows
from conversations.models import ModelProfile
from conversations.runtime.amounts import amount, localized
from conversations.templatetags.chat import money, seconds

logger = logging.getLogger(__name__)

MAX_TESTED_AT_ONCE = 20
"""The most models that one action tests."""
OFFERED_KEY, KEPT_SECONDS = "offered-models:{}", 3_600
"""The cache key for the model ids that a server offers, and the seconds that they are kept."""
MAX_NAMED = 12
"""The most offered model ids in a message; the form's model id field suggests all of them."""
NOT_NEGATIVE = {"price_input", "price_cached", "price_output", "parameters_billion"}
LEARNED = ("window", "chat_template")
"""Fields that are learned in the background too, while a form is open."""
SET_AGAIN = _("From the environment: at each start its variables set this again, and the role, and that it is enabled.")


class ModelProfileForm(forms.ModelForm):
    """The form of a model profile. It accepts an API key and never shows one."""

    api_key = forms.CharField(
        label=_("API key"),
        required=False,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Encrypted and never shown. Leave it empty to keep the key."),
    )

    class Meta:
        model = ModelProfile
        fields = "__all__"  # noqa: DJ007 - the fieldsets name them
        widgets = {"groups": forms.CheckboxSelectMultiple}
        labels = {
            "base_url": _("Base URL"),
            "model_id": _("Model id"),
            "window": _("Context window"),
            "price_input": _("Input"),
            "price_cached": _("Cached input"),
            "price_output": _("Output"),
            "parameters_billion": _("Parameters, in billions"),
            "groups": _("Groups"),
            "is_local": _("On a server of your own"),
            "silence_seconds": _("Give up after this time without an answer"),
        }
        help_texts = {
            "name": _("The name in the list of models."),
            "role": _("People choose among models for chat. Models for summaries write summaries, if there are any."),
            "enabled": _("Conversations with a model that is disabled go on with the default one: the first for chat."),
            "groups": _(
                "Only members of these groups and superusers may use it. None: everybody may. Conversations of others "
                "go on with their default model."
            ),
            "provider": _(
                "Which API it speaks. Nearly every server speaks OpenAI's: vLLM, Ollama, llama.cpp, LM Studio."
            ),
            "base_url": _("Empty: the provider's own. Else with its version, as http://127.0.0.1:11434/v1 for Ollama."),
            "model_id": _("The server's name for it. A test of the connection lists the server's models."),
            "window": _("In tokens, as its server reads them. Conversations are compacted before they outgrow it."),
            "max_reply_tokens": _(
                "The most tokens of a reply, reserved in the window. Empty: no limit, and 1,000 reserved."
            ),
            "is_local": _(
                "Only 85 % of the window is used then, because this server's way of counting tokens is not known "
                "exactly."
            ),
            "price_cached": _("Empty: as input."),
            "parameters_billion": _("Its size decides how far it is trusted after many summaries. Empty: unknown."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["api_key"] = ""
        self.offered: list[str] = cache.get(OFFERED_KEY.format(self.instance.pk), [])
        # The form of a person with view permission alone has none of these fields.
        for name in self.fields.keys() & NOT_NEGATIVE:
            self.fields[name].validators.append(MinValueValidator(0))
        for name in self.fields.keys() & set(LEARNED):
            self.fields[name].show_hidden_initial = True
        if "chat_template" in self.fields:
            self.fields["chat_template"].required = False
        if "model_id" in self.fields:
            self.fields["model_id"].widget.attrs["list"] = "offered-models"

    def clean(self) -> dict[str, Any]:
        """Keep a stored key only for its own address, and reset the learned chat template when the model changes.

        Nothing that was learned since the form was opened is overwritten by a field that nobody changed.
        """
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self._keep_key(cleaned)
        if self.instance.pk:
            unchanged = cleaned.keys() & set(LEARNED) - set(self.changed_data)
            cleaned |= {name: self.initial[name] for name in unchanged}
        moved = {"base_url", "model_id"} & set(self.changed_data)
        if self.instance.pk and moved and cleaned.get("chat_template") == self.initial.get("chat_template"):
            cleaned["chat_template"] = ModelProfile.ChatTemplate.FREE
        return cleaned

    def clean_base_url(self) -> str:
        return pasted_address(self.cleaned_data["base_url"])

    def clean_api_key(self) -> str:
        return pasted_key(self.cleaned_data["api_key"])

    def clean_chat_template(self) -> str:
        return self.cleaned_data["chat_template"] or str(self.instance.chat_template)

    def _keep_key(self, cleaned: dict[str, Any]) -> None:
        """Keep the stored key if none is entered and the address is unchanged."""
        if "api_key" not in cleaned or cleaned["api_key"]:
            return
        kept = str(self.instance.api_key)
        if kept and {"provider", "base_url"} & set(self.changed_data):
            self.add_error("api_key", gettext("The address is another one: enter the key for it again."))
        cleaned["api_key"] = kept


@admin.register(ModelProfile)
class ModelProfileAdmin(admin.ModelAdmin):
    """A model profile. A form with `_test` is saved, then the saved profile is tested."""

    form = ModelProfileForm
    save_on_top = True
    list_display = ["name", "provider", "model_id", "window_with_source", "role", "enabled", "from_environment"]
    list_filter = ["provider", "role", "enabled"]
    actions = ["test_connection"]
    readonly_fields = ["from_environment", "token_correction", "window_known"]
    fieldsets = [
        (None, {"fields": ["name", "role", "enabled", "groups", "from_environment"]}),
        (_("Connection"), {"fields": ["provider", "base_url", "api_key", "model_id"]}),
        (_("Window"), {"fields": ["window", "window_known", "max_reply_tokens", "is_local", "token_correction"]}),
        (
            _("Prices"),
            {
                "fields": [("price_input", "price_cached", "price_output")],
                "description": _("In US dollars for a million tokens. Without them, costs are not known."),
            },
        ),
        (_("Thinking"), {"fields": ["effort", "silence_seconds"]}),
        (_("Abilities"), {"fields": ["sees_images", "calls_tools", "chat_template", "parameters_billion"]}),
    ]

    @admin.display(description=_("Context window"), ordering="window")
    def window_with_source(self, profile: ModelProfile) -> SafeString:
        return format_html("{}<br><small>{}</small>", amount(profile.window), profile.get_window_source_display())

    @admin.display(description=_("Known"))
    def window_known(self, profile: ModelProfile) -> str:
        if profile.pk is None:
            return gettext("The site asks a server of your own. A window that you change here counts as set by hand.")
        return window_words.how_known(profile)

    def save_model(self, request: HttpRequest, obj: ModelProfile, form: forms.ModelForm, change: bool) -> None:
        """Save the profile; a changed window is set by hand, and one of a new server or model is learned anew."""
        if "window" in form.changed_data:
            windows.set_by_hand(obj)
        elif not change:
            obj.window_source = ModelProfile.WindowSource.DEFAULT
            windows.guess(obj)
        elif {"provider", "base_url", "model_id"} & set(form.changed_data):
            windows.guess(obj)
        super().save_model(request, obj, form, change)
        if obj.role == ModelProfile.Role.CHAT:
            windows.inherit(obj)
        if obj.enabled and "_test" not in request.POST:
            windows.ask_later(obj)

    @admin.action(description=_("Test the connection"), permissions=["change"])
    def test_connection(self, request: HttpRequest, profiles: QuerySet[ModelProfile]) -> None:
        self._test(request, list(profiles[:MAX_TESTED_AT_ONCE]))

    def get_fieldsets(self, request: HttpRequest, obj: ModelProfile | None = None) -> Any:
        note = {"description": SET_AGAIN} if obj and obj.from_environment else {}
        fieldsets = super().get_fieldsets(request, obj)
        return [
            (name, {**options, **note} if "base_url" in options["fields"] else options) for name, options in fieldsets
        ]

    def response_add(self, request: HttpRequest, obj: ModelProfile, *args: Any) -> HttpResponse:
        return self._to_test(request, obj) or super().response_add(request, obj, *args)

    def response_change(self, request: HttpRequest, obj: ModelProfile) -> HttpResponse:
        return self._to_test(request, obj) or super().response_change(request, obj)

    def _to_test(self, request: HttpRequest, profile: ModelProfile) -> HttpResponse | None:
        if "_test" not in request.POST:
            return None
        # Test after the commit, so that no transaction stays open while a model answers.
        transaction.on_commit(partial(self._test, request, [profile]))
        return redirect("admin:conversations_modelprofile_change", profile.pk)

    def _test(self, request: HttpRequest, profiles: Sequence[ModelProfile]) -> None:
        for trial in async_to_sync(_tried)(profiles):
            trial.profile.refresh_from_db()
            cache.set(OFFERED_KEY.format(trial.profile.pk), list(trial.offered), KEPT_SECONDS)
            status = "failed" if trial.fault else "answered"
            logger.info("model tested", extra={"model": trial.profile.name, "status": status, "ms": trial.ms})
            self.message_user(request, connection_notice(trial), messages.ERROR if trial.fault else messages.SUCCESS)


async def _tried(profiles: Sequence[ModelProfile]) -> list[ConnectionTest]:
    """The models' answers; then, as a server has loaded its model, the windows that the servers name are stored."""
    trials = await test_connections(profiles)
    await asyncio.gather(*(windows.ask(trial.profile.pk) for trial in trials))
    return trials


def connection_notice(trial: ConnectionTest) -> SafeString:
    """The result of a connection test, in words."""
    name = trial.profile.name
    if trial.fault:
        fault = trial.fault.removeprefix(name) if trial.fault.startswith(name) else f": {trial.fault}"
        return format_html("<b>{}</b>{}{}", name, fault, _offered_sentence(trial))
    if trial.words:
        answered = gettext("answered in %(time)s: “%(words)s”")
    else:
        answered = gettext("answered in %(time)s, but spent all the tokens of this test on thoughts.")
    return format_html(
        "<b>{}</b> {} {} {}{} {}",
        name,
        answered % {"time": seconds(trial.ms), "words": trial.words},
        _tokens_sentence(trial),
        _price_sentence(trial),
        _template_sentence(trial),
        _window_sentence(trial),
    )


def _tokens_sentence(trial: ConnectionTest) -> str:
    window, spent = trial.profile.usable_window, trial.spent
    figures = {
        "prompt": amount(spent.prompt) if spent else "",
        "completion": amount(spent.completion) if spent else "",
        "ours": amount(trial.estimated),
        "factor": localized(f"{window.correction:g}"),
        "corrected": amount(window.corrected(trial.estimated)),
    }
    reported = gettext(
        "%(prompt)s tokens in and %(completion)s out, it reports; our count is %(ours)s, corrected (× %(factor)s) "
        "%(corrected)s."
    )
    silent = gettext("It reports no tokens; our count is %(ours)s, corrected (× %(factor)s) %(corrected)s.")
    return (reported if spent else silent) % figures


def _window_sentence(trial: ConnectionTest) -> str:
    window = gettext("Window: %(tokens)s tokens.") % {"tokens": amount(trial.profile.window)}
    return f"{window} {window_words.how_known(trial.profile)}"


def _template_sentence(trial: ConnectionTest) -> str:
    """The model's chat template, in words; "" if messages are sent unchanged."""
    profile = trial.profile
    is_free = profile.chat_template == ModelProfile.ChatTemplate.FREE
    template = " " + gettext("Chat template: %(name)s.") % {"name": profile.get_chat_template_display()}
    return "" if is_free else template


def _price_sentence(trial: ConnectionTest) -> str:
    cost = trial.cost
    return gettext("The cost is not known.") if cost is None else gettext("It cost %(cost)s.") % {"cost": money(cost)}


def _offered_sentence(trial: ConnectionTest) -> str:
    """The model ids that the server offers, in words; "" if it lists none."""
    if not trial.offered:
        return ""
    more = len(trial.offered) - MAX_NAMED
    names = ", ".join(trial.offered[:MAX_NAMED])
    named = (
        gettext("The server offers %(names)s and %(more)s more.")
        if more > 0
        else gettext("The server offers %(names)s.")
    )
    return " " + named % {"names": names, "more": more}
