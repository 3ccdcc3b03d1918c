"""Messages that are sent without their tools' results, and the placeholders that stand for these."""

from __future__ import annotations

from typing import NamedTuple

from conversations.context.tools import READ

OF_CALLERS = "[This result was left out to make room; it is stored in full.]"
"""The placeholder in a history of the gateway, whose model has no tool to read it."""
UNKNOWN_NUMBER = 99_999
"""The number with which a placeholder is measured: as long as any usual one."""


class Elision(NamedTuple):
    """The tokens of a message without its results, and its number in the history (None: not noted)."""

    tokens: int
    number: int | None = None


def elision(stored: int | list[int]) -> Elision:
    """The elision that a conversation's `elided` column, or a noted request, has for a message."""
    return Elision(stored) if isinstance(stored, int) else Elision(*stored)


def placeholder(result: str, *, tool: str = "", number: int | None = None) -> str:
    """The text in place of a result, which names the call that brings it back."""
    of = f"`{tool}`" if tool else "a tool"
    at = "" if number is None else f"#{number:,}, "
    again = READ if number is None else f"{READ}({number})"
    return f"[Result of {of} ({at}{len(result):,} characters) left out to make room: call {again} to read it.]"
