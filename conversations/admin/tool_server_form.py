"""The administration form of a tool server: address, secrets, limits and allowed tools."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from conversations.agents.tools.mcp.environment import pairs
from conversations.context.tools import SERVER_SEPARATOR, spec_of
from conversations.llm import tools
from conversations.models import ToolServer
from conversations.runtime.amounts import amount

SECRETS = ("environment", "headers")
PROGRAM = {"transport", "command", "environment"}
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)


class WriteOnly(forms.Textarea):
    """A text area whose value is never shown again, not even beside an error."""

    def format_value(self, value: Any) -> str:
        return ""


class ToolServerForm(forms.ModelForm):
    """The form of a tool server. `seen` is the time of the inspection that the form's checkboxes show."""

    environment = forms.CharField(
        label=_("Environment"), required=False, max_length=20_000, widget=WriteOnly({"rows": 3})
    )
    headers = forms.CharField(label=_("Headers"), required=False, max_length=20_000, widget=WriteOnly({"rows": 3}))
    forget = forms.MultipleChoiceField(
        label=_("Forget the stored values"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[("environment", _("Environment")), ("headers", _("Headers"))],
    )
    allowed = forms.MultipleChoiceField(
        label=_("Models may call"), required=False, widget=forms.CheckboxSelectMultiple
    )  # fmt: skip
    seen = forms.CharField(required=False, widget=forms.HiddenInput, label="")

    class Meta:
        model = ToolServer
        fields = "__all__"  # noqa: DJ007 - the fieldsets name them
        widgets = {name: AdminTextInputWidget({"class": "vLargeTextField"}) for name in ("command", "url")}
        labels = {"timeout_seconds": _("Seconds to wait"), "max_characters": _("Characters of a result")}
        help_texts = {
            "name": _("Models see it before the name of each tool. Small letters, digits, - and _."),
            "enabled": _("Tools of a server that is disabled are neither offered nor called."),
            "command": _("With its arguments; no shell reads it. As: .venv/bin/python -m mcp_server_time"),
            "url": _("As http://127.0.0.1:9000/mcp"),
            "timeout_seconds": _("For its start, and again for each call."),
            "max_characters": _(
                "Longer results are cut, with a note for the model. Each request contains less of them."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in SECRETS:
            self.initial[name] = ""
            if name in self.fields:
                self.fields[name].help_text = _secret_help(getattr(self.instance, name))
        self.initial["seen"] = self._looked_at
        self._keep_programs()
        if "allowed" in self.fields:
            self._offer(self.fields["allowed"])

    @property
    def _looked_at(self) -> str:
        return self.instance.looked_at.isoformat() if self.instance.looked_at else ""

    def _keep_programs(self) -> None:
        """Lock the fields of a local program: only people who can run commands set programs up, never this form."""
        if self.instance.pk and self.instance.transport == ToolServer.Transport.STDIO:
            for name in PROGRAM & self.fields.keys():
                self.fields[name].disabled = True
                self.fields[name].required = False
            if "forget" in self.fields:
                self._choose("forget", [("headers", _("Headers"))])
        elif "transport" in self.fields:
            self._choose("transport", [(ToolServer.Transport.HTTP.value, gettext(ToolServer.Transport.HTTP.label))])
            self.initial["transport"] = ToolServer.Transport.HTTP.value
            for name in ("command", "environment"):
                self.fields[name].disabled = True

    def _choose(self, name: str, choices: list[Any]) -> None:
        field: Any = self.fields[name]
        field.choices = choices

    def _offer(self, field: Any) -> None:
        field.choices = [(tool["name"], _label(self.instance.name, tool)) for tool in self.instance.tools]
        if not field.choices:
            field.help_text = gettext("“Save and list its tools” asks the server for them.")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if SERVER_SEPARATOR in name or name.endswith("_"):
            raise forms.ValidationError(
                gettext("Without %(separator)s, and without _ at its end: these separate it from the name of a tool.")
                % {"separator": SERVER_SEPARATOR}
            )
        return name

    def clean_environment(self) -> str:
        return self._lines("environment")

    def clean_headers(self) -> str:
        lines = self._lines("headers")
        for name, value in pairs(lines).items():
            if not HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise forms.ValidationError(gettext("A header's name or value has invalid characters."))
        return lines

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("transport") == ToolServer.Transport.STDIO:
            self._check("command", _command_error(cleaned.get("command", "")))
        elif cleaned.get("transport") == ToolServer.Transport.HTTP:
            self._check("url", _url_error(cleaned.get("url", "")))
        if self.instance.pk and self.data.get("seen", "") != self._looked_at:
            self._check("allowed", gettext("Somebody has listed the server's tools since. Check the new list."))
        stays = not cleaned.get("headers") and "headers" not in cleaned.get("forget", ())
        if "url" in self.changed_data and self.instance.headers and stays:
            self._check(
                "headers", gettext("The address is another one: enter the headers for it again, or forget them.")
            )
        for name in SECRETS:
            if name not in cleaned.get("forget", ()) and not cleaned.get(name):
                cleaned[name] = getattr(self.instance, name)
        return cleaned

    def _check(self, field: str, wrong: str) -> None:
        if wrong:
            self.add_error(field, wrong)

    def _lines(self, field: str) -> str:
        lines: str = self.cleaned_data[field]
        try:
            pairs(lines)
        except ValueError as error:
            raise forms.ValidationError(f"{str(error).capitalize()}.".replace("name=value", "NAME=value")) from None
        return lines


def _command_error(command: str) -> str:
    """The error of a command; "" if it is valid."""
    try:
        return "" if shlex.split(command) else gettext("A program on this machine needs a command.")
    except ValueError as error:
        return gettext("It cannot be read: %(reason)s.") % {"reason": error}


def _url_error(url: str) -> str:
    """The error of an address; "" if it is valid."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        return gettext("Enter an address that begins with http:// or https://.")
    if parts.username is not None or parts.password is not None:
        return gettext("A name and a password belong in the headers: the address is shown to others.")
    return ""


def _secret_help(lines: str) -> str:
    help_text = gettext("Lines NAME=value. Encrypted and never shown. Leave it empty to keep them.")
    return f"{help_text} {gettext('Set now: %(names)s.') % {'names': ', '.join(pairs(lines))}}" if lines else help_text


def _label(server: str, tool: dict[str, Any]) -> str:
    cost = tools.tokens((spec_of(server, tool),)) - tools.LIST_OVERHEAD
    about = tool["description"] or gettext("no description")
    return gettext("%(name)s (%(tokens)s tokens): %(about)s") % {
        "name": tool["name"],
        "tokens": amount(cost),
        "about": about,
    }
