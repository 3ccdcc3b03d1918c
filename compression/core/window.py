"""Groups messages that no cut may separate."""

from __future__ import annotations

from collections.abc import Sequence

from compression.core.values import Group, Turn


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
