"""Finds the starting point of a compaction that replaces provisional summaries with ones made from the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from compression.core.values import Checkpoint


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """The checkpoints and the cut that a transcript is loaded with.

    The transcript also has the history after the cut, and from before it the kept messages and the `stragglers` (ids;
    some may stand after the cut).
    """

    checkpoints: tuple[Checkpoint, ...]
    cut: datetime | None
    stragglers: tuple[str, ...]


def starting_point(checkpoints: Sequence[Checkpoint]) -> StartingPoint:
    """The starting point before the provisional checkpoints at the end; without any, after all checkpoints."""
    lasting = len(checkpoints)
    while lasting and checkpoints[lasting - 1].provisional:
        lasting -= 1
    return StartingPoint(
        checkpoints=tuple(checkpoints[:lasting]),
        cut=checkpoints[lasting - 1].last_at if lasting else None,
        stragglers=tuple(id for provisional in checkpoints[lasting:] for id in provisional.stragglers),
    )
