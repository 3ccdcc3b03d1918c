"""The template tag for a form field's value: the refused input if there is any, else the stored value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from django import template

register = template.Library()


@register.simple_tag
def drafted(draft: Mapping[str, Any] | Literal[""], field: str, stored: object) -> object:
    """The draft's value of `field`, even if empty; `stored` if there is no draft, or the draft is of another form."""
    return draft[field] if draft and field in draft else stored
