"""Translates the names, help texts and choices of models, which the administration's forms and lists show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten, flatten_fieldsets
from django.db.models import Field, Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, gettext_noop

from conversations.models import AgentStep, LedgerEntry, Message, ModelProfile, ToolCall, User

OWN_APPS = ("conversations", "compression")
APP_NAMES = {"conversations": "Conversations", "compression": "Compression", "axes": "Sign-in attempts"}
LISTED = {
    AgentStep: ["number", "kind"],
    LedgerEntry: ["state", "kind"],
    Message: ["role"],
    ModelProfile: ["window_source"],
    ToolCall: ["status"],
}
"""Fields that are shown as a part of others, or on the pages of other models."""

DJANGOS_TEXTS = (
    gettext_noop("Run"),
    gettext_noop("- Select an option -"),
    gettext_noop("Search %(name)s"),
    gettext_noop("Pagination %(name)s"),
    gettext_noop("Pagination %(name)s entries"),
)
"""Texts of Django's administration that its own catalogs lack in some languages."""

type Admins = Mapping[type[Model], admin.ModelAdmin]


def translate(admins: Admins) -> None:
    """Replace the texts of shown fields by lazy translations.

    A field keeps its original name for migrations (`_verbose_name`), and English texts equal their translations there.
    """
    for app, name in APP_NAMES.items():
        apps.get_app_config(app).verbose_name = gettext_lazy(name)
    for model, names in _shown(admins):
        options: Any = model._meta
        # Django derives the plural from the name: it comes first.
        options.verbose_name_plural = gettext_lazy(str(options.verbose_name_plural))
        options.verbose_name = gettext_lazy(str(options.verbose_name))
        for field in _fields(model, names):
            field.verbose_name = _lazy(field.verbose_name)
            field.help_text = _lazy(field.help_text)
            if field.choices:
                field.choices = [(value, _lazy(label)) for value, label in field.flatchoices]


def texts(admins: Admins) -> Iterator[str]:
    """The texts that `translate` replaces."""
    yield from APP_NAMES.values()
    for model, names in _shown(admins):
        yield from (str(model._meta.verbose_name), str(model._meta.verbose_name_plural))
        for field in _fields(model, names):
            labels = [label for _value, label in field.flatchoices] if field.choices else []
            yield from filter(None, (str(field.verbose_name), str(field.help_text), *map(str, labels)))


def _lazy(text: Any) -> Any:
    return text if isinstance(text, Promise) or not text else gettext_lazy(text)


def choices_of(model: type[Model], name: str) -> list[tuple[str, str]]:
    """The choices of a field, with their translated labels."""
    field: Any = model._meta.get_field(name)
    return [(str(value), str(label)) for value, label in field.flatchoices]


def _shown(admins: Admins) -> Iterator[tuple[type[Model], list[str]]]:
    """Each model with the names of the fields that its page, its list and its filters show."""
    yield from LISTED.items()
    pages = dict(admins) | {inline.model: inline for page in admins.values() for inline in page.inlines}
    for model, page in pages.items():
        if model._meta.app_label not in OWN_APPS or model is User:  # whose fields are Django's, and translated there
            continue
        names = flatten_fieldsets(page.fieldsets) if page.fieldsets else flatten(page.fields or [])
        if not names:
            names = [field.name for field in model._meta.fields if field.editable and not field.primary_key]
        filters = [one[0] if isinstance(one, tuple) else one for one in getattr(page, "list_filter", ())]
        listed = getattr(page, "list_display", ())  # an inline has no list
        hidden = set(page.exclude or ())
        yield model, [name for name in dict.fromkeys((*names, *listed, *filters)) if name not in hidden]


def _fields(model: type[Model], names: list[str]) -> Iterator[Field[Any, Any]]:
    own = {field.name: field for field in model._meta.fields}
    return (own[name] for name in names if name in own)
