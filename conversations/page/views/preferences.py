"""The settings page of a person: theme, typing, defaults for new conversations, password and API keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, cast

from django import forms
from django.conf import settings as site_settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh, reswap, retarget, trigger_client_event

from compression.core.tokens import count_tokens
from conversations import api_keys, preferences
from conversations.context.system_prompt import clean_system_prompt
from conversations.errors import Invalid, Refused
from conversations.instructions import conversation_settings
from conversations.llm.profiles import default_profile
from conversations.models import ModelProfile, Preference, User
from conversations.models.conversation import MAX_SYSTEM_PROMPT_CHARS
from conversations.ops import mail
from conversations.page.bound_forms import refuse_in
from conversations.page.forms import without_help
from conversations.page.setting_forms import BeginningForm, KeyForm, prompt_forms
from conversations.page.views.guard import Request, View, member
from conversations.page.views.sidebar import sidebar
from conversations.projects import MAY_WRITE, projects_for
from conversations.runtime import audit
from conversations.saved_prompts import prompts_of
from conversations.validation import clean_text

THEMES = {
    Preference.Theme.SYSTEM.value: gettext_lazy("System"),
    Preference.Theme.LIGHT.value: gettext_lazy("Light"),
    Preference.Theme.DARK.value: gettext_lazy("Dark"),
}
LANGUAGES = {"": gettext_lazy("As the browser has it")} | dict(site_settings.LANGUAGES)
TYPING = ("sends", "breaks")
"""The two meanings of the Enter key: send the message, or break the line."""


def parts(
    request: Request, preference: Preference, default: Callable[[], ModelProfile | None] | None = None
) -> dict[str, Any]:
    """The template context of the sections; `default` is the model of new chats.

    Values that are functions run only if a template uses them.
    """
    default = default or partial(default_profile, request.user.pk)
    return {
        "preference": preference,
        "theme": preference.theme,
        "themes": THEMES,
        "languages": LANGUAGES,
        "beginning_form": partial(BeginningForm, preference, default),
        "prompt_tokens": partial(count_tokens, preference.system_prompt),
        "max_system_prompt": MAX_SYSTEM_PROMPT_CHARS,
        "password_form": partial(_password_form, request),
        "keys": partial(api_keys.listed_keys, request.user),
        "key_form": KeyForm,
        "projects": partial(projects_for, request.user, MAY_WRITE),
        "prompt_forms": partial(prompt_forms, prompts_of(request.user), request.path.rpartition("/")[2]),
    }


@member
@never_cache
@require_GET
def settings(request: Request) -> HttpResponse:
    return page(request)


def page(
    request: Request, *, status: int = 200, refusal: Refused | None = None, form: str = "", **more: Any
) -> HttpResponse:
    """The page with all sections; `form` shows the refusal.

    The page's cookie is set again, since the theme may have been changed in another browser.
    """
    preference, profile = preferences.preference_of(request.user), default_profile(request.user.pk)
    context = parts(request, preference, lambda: profile) | {
        "sidebar": sidebar(request.user),
        "site": request.build_absolute_uri("/").rstrip("/"),
        "program_model": json.dumps(profile.name if profile else "gpt-5", ensure_ascii=False),
    }
    if refusal:
        refuse_in(context, form, request.POST, refusal)
    response = render(request, "conversations/settings/settings.html", context | more, status=status)
    return preferences.remember(response, preference)


def section(
    request: Request, name: str, /, *, status: int = 200, refusal: Refused | None = None, form: str = "", **more: Any
) -> HttpResponse:
    """One section, which replaces the section on the page; `form` shows the refusal."""
    context = parts(request, preferences.preference_of(request.user))
    if refusal:
        refuse_in(context, form, request.POST, refusal)
    response = render(request, f"conversations/settings/_{name}.html", context | more, status=status)
    return reswap(retarget(response, f"#{name}-section"), "outerHTML")


def saves(name: str, *, form: str = "") -> Callable[[Callable[[Request], dict[str, Any]]], View]:
    """Decorate a function that returns a section's fields, as a view that stores them.

    `form` is the name, in `parts`, of the posted form: after a refusal it shows what was typed.
    """

    def decorate(act: Callable[[Request], dict[str, Any]]) -> View:
        @member
        @require_POST
        @wraps(act)
        def view(request: Request) -> HttpResponse:
            try:
                preference = preferences.change(request.user, **act(request))
            except Refused as refusal:
                return section(request, name, status=refusal.status, refusal=refusal, form=form)
            return preferences.remember(section(request, name, said=_("Saved.")), preference)

        return view

    return decorate


@member
@require_POST
def theme(request: Request) -> HttpResponse:
    """Choose the theme, from the section or from the button beside the list. The page changes at once."""
    chosen = request.POST.get("theme", "")
    if chosen not in THEMES:
        raise Invalid(f"theme: must be one of {', '.join(THEMES)}.", field="theme")
    preference = preferences.change(request.user, theme=chosen)
    response = render(request, "conversations/shared/_theme.html", {"theme": chosen})
    return trigger_client_event(preferences.remember(response, preference), "theme", {"theme": chosen})


@member
@require_POST
def language(request: Request) -> HttpResponse:
    """Choose the language of the pages; "" is that of the browser. The page loads again in it."""
    chosen = request.POST.get("language", "")
    if chosen not in LANGUAGES:
        raise Invalid(f"language: must be one of {', '.join(filter(None, LANGUAGES))}, or empty.", field="language")
    preference = preferences.change(request.user, language=chosen)
    return preferences.remember(HttpResponseClientRefresh(), preference)


@saves("typing")
def typing(request: Request) -> dict[str, Any]:
    chosen = request.POST.get("enter", "")
    if chosen not in TYPING:
        raise Invalid(f"enter: must be one of {', '.join(TYPING)}.", field="enter")
    return {"enter_sends": chosen == "sends"}


@saves("beginning", form="beginning_form")
def beginning(request: Request) -> dict[str, Any]:
    model, mode = request.POST.get("model", ""), request.POST.get("mode", "")
    text = request.POST.get("system_prompt", "")
    return {
        "model": conversation_settings.chosen_profile(request.user, model) if model else None,
        "mode": conversation_settings.clean_mode(mode),
        "system_prompt": clean_system_prompt(text),
    }


@sensitive_post_parameters()
@member
@require_POST
def password(request: Request) -> HttpResponse:
    """Change the password, and on request end the API keys.

    This session stays signed in; those of other browsers end.
    """
    form = _password_form(request, request.POST)
    if not form.is_valid():
        return section(request, "password", status=400, password_form=form)
    update_session_auth_hash(request, form.save())
    audit.note(audit.Action.PASSWORD_CHANGED, request.user)
    mail.notify(cast(User, request.user), _("Your password was changed."))
    said = _("Changed. Other browsers have to sign in again.")
    if not form.cleaned_data["ends_keys"]:
        return section(request, "password", said=said)
    ended = api_keys.revoke_all(request.user)
    keys = ngettext("%(number)s API key ended.", "%(number)s API keys ended.", ended) % {"number": ended}
    said = f"{said} {keys if ended else _('There were no API keys.')}"
    return trigger_client_event(section(request, "password", said=said), "keys-ended")


@member
@require_POST
def count(request: Request) -> HttpResponse:
    """The tokens that the system prompt being typed would add to each request."""
    text = clean_text(
        "system_prompt", request.POST.get("system_prompt", ""), limit=MAX_SYSTEM_PROMPT_CHARS, allow_blank=True
    )
    return render(request, "conversations/shared/_tokens.html", {"prompt_tokens": count_tokens(text)})


def _password_form(request: Request, data: Any = None) -> PasswordChangeForm:
    form = PasswordChangeForm(cast(User, request.user), data, auto_id="password-%s", label_suffix="")
    # The page has several forms, so none may take the focus when it opens.
    form.fields["old_password"].widget.attrs.pop("autofocus", None)
    form.fields["ends_keys"] = forms.BooleanField(required=False, label=_("End my API keys too"))
    without_help(form)
    return form
