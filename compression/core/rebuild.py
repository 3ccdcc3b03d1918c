"""Where a compaction starts from when notes of a truncation are to be written anew from the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from compression.core.values import Checkpoint


@dataclass(frozen=True, slots=True)
class Start:
    """What a transcript is loaded with: these checkpoints, this cut, and everything that they do not stand for.

    That is the history after the cut, and before it the kept messages and the `stragglers` (ids, of which some may
    stand after it).
    """

    checkpoints: tuple[Checkpoint, ...]
    cut: datetime | None
    stragglers: tuple[str, ...]


def start(checkpoints: Sequence[Checkpoint]) -> Start:
    """Before the provisional checkpoints at the end of the active ones; where there are none, after them all."""
    lasting = len(checkpoints)
    while lasting and checkpoints[lasting - 1].provisional:
        lasting -= 1
    return Start(
        checkpoints=tuple(checkpoints[:lasting]),
        cut=checkpoints[lasting - 1].last_at if lasting else None,
        stragglers=tuple(id for one in checkpoints[lasting:] for id in one.stragglers),
    )
