"""Messages that are sent without their tools' results, or with excerpts of them, and the text that is sent instead."""

from __future__ import annotations

from typing import NamedTuple

from conversations.context.tools import READ

OF_CALLERS = "[This result was left out to make room; it is stored in full.]"
"""The placeholder in a history of the gateway, whose model has no tool to read it."""
SHORTEST_EXCERPT, LONGEST_EXCERPT = 200, 200_000
"""Characters of a tool's result that are sent if all of it does not fit."""
UNKNOWN_NUMBER = 99_999
"""The number with which a placeholder is measured: as long as any usual one."""


class Elision(NamedTuple):
    """The tokens of a message as it is sent, its number in the history (None: not noted), and the characters of each
    of its results that are sent.
    """

    tokens: int
    number: int | None = None
    excerpt: int = 0


def elision(stored: int | list[int]) -> Elision:
    """The elision that a conversation's `elided` column, or a noted request, has for a message."""
    return Elision(stored) if isinstance(stored, int) else Elision(*stored)


def placeholder(result: str, *, tool: str = "", number: int | None = None, excerpt: int = 0) -> str:
    """The text in place of a result, which names the call that brings it back.

    With an `excerpt`, the result's beginning and end of that many characters together; all of it if it is shorter.
    """
    again = READ if number is None else f"{READ}({number})"
    if excerpt:
        return shortened(result, excerpt, f": call {again} to read all.")
    of = f"`{tool}`" if tool else "a tool"
    at = "" if number is None else f"#{number:,}, "
    return f"[Result of {of} ({at}{len(result):,} characters) left out to make room: call {again} to read it.]"


def of_callers(result: str, excerpt: int) -> str:
    """The placeholder or the excerpt of a result in a history of the gateway."""
    return shortened(result, excerpt, "; it is stored in full.") if excerpt else OF_CALLERS


def shortened(result: str, excerpt: int, hint: str) -> str:
    """The first and the last characters of a result, `excerpt` together, around a note that ends with `hint`."""
    omitted = len(result) - excerpt
    if omitted <= 0:
        return result
    head = excerpt - excerpt // 2
    note = f"[{omitted:,} of {len(result):,} characters left out here to make room{hint}]"
    return f"{result[:head]}\n{note}\n{result[head + omitted :]}"
