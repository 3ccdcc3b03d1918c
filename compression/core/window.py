"""Splits a history at the cut, and groups messages that no cut may separate."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime

from compression.core.values import Group, Turn


def split_at_cut(history: Sequence[Turn], cut: datetime | None) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """(turns up to the cut, turns after it). `created_at` is strictly increasing along the history."""
    after = bisect_right(history, cut, key=lambda turn: turn.created_at) if cut else 0
    return tuple(history[:after]), tuple(history[after:])


def groups(turns: Sequence[Turn]) -> tuple[Group, ...]:
    """The turns in groups that no cut may separate: a tool's result belongs to the message before it."""
    together: list[list[Turn]] = []
    for turn in turns:
        if together and turn.role == "tool":
            together[-1].append(turn)
        else:
            together.append([turn])
    return tuple(tuple(group) for group in together)


def is_protected(group: Group) -> bool:
    return any(turn.protected for turn in group)
