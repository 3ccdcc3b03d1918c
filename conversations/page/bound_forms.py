"""The base of the page's forms: fields keep the typed text, verbs check it, and a refusal appears beside its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy

from conversations.errors import Refused

Data = Mapping[str, Any] | None
"""The posted values; None: the form shows the stored ones."""


class DescribedField(forms.BoundField):
    """Names, beside Django's help text and errors, the elements of the page that describe the field."""

    @property
    def aria_describedby(self) -> str:
        own = super().aria_describedby or ""
        return f"{getattr(self.field, 'described_by', '')} {own}".strip()


class TypedField(forms.Field):
    """A typed value, unchecked: the verb that receives it checks it.

    `described_by` is the id of an element that describes the field, "" for none.
    """

    bound_field_class = DescribedField

    def __init__(self, *, described_by: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.described_by = described_by

    def validate(self, value: Any) -> None:
        """`required` only marks the field in the browser."""


class KeepingSelect(forms.Select):
    """A list of choices that shows a value which it does not offer (any more) as a further choice."""

    def __init__(self, attrs: dict[str, Any] | None = None, choices: Any = (), *, gone: Any = "") -> None:
        super().__init__(attrs, choices)
        self.gone = gone or gettext_lazy("{} (not there any more)")

    def optgroups(self, name: str, value: list[str], attrs: dict[str, Any] | None = None) -> list[Any]:
        groups = super().optgroups(name, value, attrs)
        is_offered = any(option["selected"] for _, options, _ in groups for option in options)
        for one in value if not is_offered else []:
            if one:
                label = self.gone.format(one)
                option = self.create_option(name, one, label, True, len(groups), attrs=attrs)
                groups.append((None, [option], len(groups)))
        return groups


class PageForm(forms.Form):
    """A form that takes the refusals of a verb.

    `PLACES` gives the field for names of refusals that are not the form's own.
    """

    PLACES: ClassVar[dict[str, str]] = {}

    def refuse(self, refusal: Refused) -> bool:
        """Put the reason beside its field; False if the form has no such field. The form must be bound."""
        named = re.split(r"[.\[]", str(refusal.detail.get("field", "")))[0]
        place = self.PLACES.get(named, named)
        if place not in self.fields:
            return False
        self.full_clean()
        self.add_error(place, refusal.without_field)
        return True


@dataclass(frozen=True, slots=True)
class FormRows:
    """A form for each entry of a list, and one for a further entry; at most one of them is bound."""

    present: list[PageForm]
    new: PageForm

    def refuse(self, refusal: Refused) -> bool:
        """Refuse like `PageForm.refuse`, by the form that is bound."""
        return next(form for form in (*self.present, self.new) if form.is_bound).refuse(refusal)


def refuse_in(context: dict[str, Any], form: str, data: Data, refusal: Refused) -> None:
    """Put a refusal into a template's context: beside its field in the form of this name, as it was typed, or alone.

    The context has a function of what was posted in the form's place; `form` is "" where nothing was typed.
    """
    context["refusal"] = refusal
    if form:
        context[form] = bound = context[form](data)
        context["refusal"] = None if bound.refuse(refusal) else refusal
