"""How values read on the page."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from conversations import markdown
from conversations.models import Message

register = template.Library()

STAGES = {
    "identify": "choosing what to fold",
    "prepare": "preparing the text",
    "summarise": "summarising",
    "checkpoint": "writing the checkpoint",
    "update": "updating the context",
    "validate": "checking what was kept",
}
NAMES = {"user": "You", "assistant": "AI", "system": "System", "tool": "Tool"}


@register.filter
def rendered(text: str) -> SafeString:
    return markdown.render(text)


@register.filter
def thousands(number: int | None) -> str:
    return f"{number or 0:,}"


@register.filter
def stage(name: str) -> str:
    return STAGES.get(name, name)


@register.filter
def who(message: Message) -> str:
    return message.name or NAMES.get(message.role, message.role)
