"""What a form shows: what was typed into it, where that was refused; else what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from django import template

register = template.Library()


@register.simple_tag
def drafted(draft: Mapping[str, Any] | Literal[""], field: str, stored: object) -> object:
    """The field of a `draft` that has it, even an empty one; `stored` where there is no draft, or of another form."""
    return draft[field] if draft and field in draft else stored
