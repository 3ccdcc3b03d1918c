"""Django forms of the pages: first account, title, import, and a conversation's compaction policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UserCreationForm
from django.contrib.contenttypes.models import ContentType
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from compression import conf
from compression.policy_fields import BY_NAME, FIELDS, PolicyField
from conversations.context.economy import ECONOMY, economical, prices_of
from conversations.context.policy import flow_of
from conversations.errors import Invalid, TooLarge
from conversations.llm.profiles import open_to
from conversations.models import Conversation, User
from conversations.ops import first_account
from conversations.page.bound_forms import KeepingSelect, TypedField
from conversations.validation import POLICY


class AccountForm(UserCreationForm):
    """Creates an account with a name and a password."""

    class Meta(UserCreationForm.Meta):
        model = User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        without_help(self)


class ConfirmForm(forms.Form):
    """Asks a signed-in person for their password, or for their name if they have no password here."""

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        self._user = user
        if user.has_usable_password():
            widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
            self.fields["password"] = forms.CharField(label=_("Password"), widget=widget)
        else:
            self.fields["username"] = forms.CharField(label=_("Your user name"))

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self._user.check_password(password):
            raise forms.ValidationError(gettext("That is not your password."))
        return password

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if name != self._user.get_username():
            raise forms.ValidationError(gettext("That is not your user name."))
        return name


class SetupForm(AccountForm):
    """Creates the first account, which administers the site."""

    def __init__(self, *args: Any, needs_token: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if needs_token:
            self.fields["token"] = forms.CharField(label=gettext("Token"), max_length=200)

    def clean_token(self) -> str:
        token: str = self.cleaned_data["token"]
        if not first_account.is_right(token):
            raise forms.ValidationError(
                gettext("This is not the token. The server printed it, with its address, when it began.")
            )
        return token

    def save_first(self) -> User | None:
        """Create and return the account; None if another account was made meanwhile."""
        user = self.save(commit=False)  # hashes the password, which takes long, before the transaction
        with transaction.atomic():
            # Lock a row that always exists, so that two first visitors take turns. SQLite has one writer anyway.
            ContentType.objects.select_for_update().get(app_label="conversations", model="user")
            if User.objects.exists():
                return None
            user.is_staff = user.is_superuser = True
            user.save()
            return user


class ImportForm(forms.Form):
    """A file of conversations, and the images that they name, one after the other; `sizes` has their bytes by id."""

    file = forms.FileField()
    images = forms.FileField(required=False)
    sizes = forms.JSONField(required=False)

    def beside(self) -> dict[str, bytes]:
        """The images by their ids. Raises Invalid if the sizes are not those of the images."""
        sizes, data = self.cleaned_data["sizes"] or {}, self.cleaned_data["images"]
        content = data.read() if data else b""
        if not isinstance(sizes, dict) or not all(type(size) is int and size > 0 for size in sizes.values()):
            raise Invalid("sizes: must be an object of whole numbers.", field="sizes")
        if sum(sizes.values()) != len(content):
            raise Invalid("sizes: their sum must be the size of the images.", field="sizes")
        ends = accumulate(sizes.values())
        return {id: content[end - size : end] for (id, size), end in zip(sizes.items(), ends, strict=True)}

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > settings.MAX_BODY_BYTES:
            raise TooLarge(
                gettext("The file is larger than %(most)s MB.") % {"most": settings.MAX_BODY_BYTES // 1_000_000},
                limit=settings.MAX_BODY_BYTES,
                size=file.size,
            )
        return file


MAIN_FIELDS = ("enabled", "threshold", "target_ratio", "keep_recent", "recall")
"""The policy's main settings, shown first."""
PERCENT_FIELDS = tuple(field.name for field in FIELDS if field.kind == "share")
LOCAL_THRESHOLD = gettext_noop("automatic")
"""The default threshold of a local model, in words: see `core.plan.policy.Policy`."""


def _form_field(field: PolicyField) -> TypedField:
    options: dict[str, Any] = {"label": _(field.label), "required": False}
    if field.kind == "template":
        return TypedField(widget=forms.Textarea({"rows": 8}), **options)
    if field.choices:
        choices = [("", _("Default")), *((value, _(words)) for value, words in field.choices.items())]
        return TypedField(widget=KeepingSelect(choices=choices), **options)
    widget = forms.TextInput({"inputmode": "numeric", "autocomplete": "off"})
    return TypedField(help_text=_translated(field.unit), widget=widget, **options)


class PolicyForm(forms.Form):
    """A conversation's own policy for people: ratios in percent; an empty field takes the site's value."""

    def __init__(self, conversation: Conversation, data: Mapping[str, Any] | None = None) -> None:
        own = conversation.policy
        super().__init__(
            data, initial={name: _format_value(name, own.get(name)) for name in POLICY}, auto_id="policy-%s"
        )
        self.fields |= {field.name: _form_field(field) for field in FIELDS}
        self.own = own
        self.values: dict[str, Any] = {}
        self._offer_summarisers(conversation.owner_id)
        preset = {"preset": own["preset"]} if own.get("preset") else {}
        model = conversation.model
        if conversation.kind != Conversation.Kind.AGENT:
            for name in [name for name in self.fields if name.startswith(conf.EXECUTOR_PREFIX)]:
                del self.fields[name]
        site, executor = conf.policy(preset, flow=flow_of(conversation.kind)), conf.executor_policy({})
        if own.get("preset") == ECONOMY and model:
            site = economical(site, prices_of(model), model.usable_window)
        for name, field in self.fields.items():
            field.show_hidden_initial = True
            is_executors = name.startswith(conf.EXECUTOR_PREFIX)
            held = getattr(executor if is_executors else site, name.removeprefix(conf.EXECUTOR_PREFIX), None)
            self._show_default(name, _format_value(name, held if name != "history_messages" else held or None))
        if site.threshold is None:
            threshold = (
                gettext(LOCAL_THRESHOLD)
                if conversation.model and conversation.model.is_local
                else _format_value("threshold", site.full_at)
            )
            self._show_default("threshold", threshold)

    def clean(self) -> None:
        """Apply the fields changed in this form to the current policy, which another tab may have saved."""
        self.values = {name: value for name, value in self.own.items() if name not in self.changed_data}
        for name, text in list(self.cleaned_data.items()):
            if name not in self.changed_data or not (text or "").strip():
                continue
            value = _parse_value(name, text.replace("\r\n", "\n"))
            allowed, expected = POLICY[name]
            if allowed(value):
                self.values[name] = value
            else:
                self.add_error(name, f"Must be {_in_percent(expected) if name in PERCENT_FIELDS else expected}.")

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in MAIN_FIELDS]

    @property
    def further(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in MAIN_FIELDS]

    def refuse(self, refusal: Invalid, *, beside: str) -> None:
        """Show the refusal of the policy as a whole beside a field, with the label of another field that it names."""
        name = str(refusal.detail.get("field", "")).removeprefix("policy.")
        words = refusal.message.removeprefix(f"policy.{name}: ")
        words = _in_percent(words) if name in PERCENT_FIELDS else words
        label = f"{self.fields[name].label}: " if name in self.fields and name != beside else ""
        self.add_error(beside, f"{label}{words}" if label else words[:1].upper() + words[1:])

    def _offer_summarisers(self, person_id: int) -> None:
        names = list(open_to(person_id).values_list("name", flat=True))
        widget = self.fields["summariser"].widget
        widget.choices = [*widget.choices, *((name, name) for name in names)]

    def _show_default(self, name: str, default: str) -> None:
        widget = self.fields[name].widget
        default = default or _translated(BY_NAME[name].unset)
        if isinstance(widget, forms.Select):
            choices: list[Any] = list(widget.choices)
            words = re.split("[:：]", str(dict(choices).get(default, default)))[0].strip().lower()
            widget.choices = [("", gettext("Default (%(value)s)") % {"value": words}), *choices[1:]]
        else:
            widget.attrs["placeholder"] = default


def _translated(words: str) -> str:
    """Words of the policy's table, in the page's language; "" stays "", which gettext has for a catalog's header."""
    return gettext(words) if words else ""


def _format_value(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{round(100 * value, 4):g}" if name in PERCENT_FIELDS else str(value)


def _parse_value(name: str, text: str) -> object:
    """The value of a field's text; the text itself if it has no value."""
    kind = BY_NAME[name].kind
    if kind == "switch":
        return {"true": True, "false": False}.get(text, text)
    if kind in ("choice", "name", "template"):
        return text
    digits = re.sub(r"\s|%|,(?=\d{3}\b)", "", text)
    if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", digits, re.ASCII):
        return text.strip().lower()
    number = float(digits) if "." in digits else int(digits)
    return round(number / 100, 6) if name in PERCENT_FIELDS else number


def _in_percent(expected: str) -> str:
    return re.sub(r"\d*\.?\d+", lambda number: f"{round(100 * float(number[0]), 4):g} %", expected)


def without_help(form: forms.BaseForm) -> None:
    """Remove Django's help texts from a form whose template does not show them, so that no field refers to them."""
    for field in form.fields.values():
        field.help_text = ""


def cleaned(form: forms.Form) -> dict[str, Any]:
    """The form's values. Raises Invalid with its first error."""
    if form.is_valid():
        return form.cleaned_data
    field, errors = next(iter(form.errors.items()))
    raise Invalid(f"{field}: {errors[0]}", field=field)
