"""How full the context window is, part by part, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compression import conf
from conversations import usage
from conversations.models import Conversation

VISIBLE = 2.5
LABELS = {"system": "System prompt", "summary": "Summary", "protected": "Protected", "live": "Live messages"}


@dataclass(frozen=True, slots=True)
class Part:
    """`start` and `width` are in percent of the window; what is there at all is wide enough to be seen."""

    kind: str
    label: str
    tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Meter:
    """`threshold`, in percent, is where folding begins; `reserve` is kept free for the reply."""

    used: int
    window: int
    percent: int
    threshold: int
    reserve: int
    parts: tuple[Part, ...]


def meter(conversation: Conversation) -> Meter | None:
    """None where no model is connected: a window is a model's."""
    used = usage.of(conversation)
    if used is None:
        return None
    parts = shares({kind: getattr(used, kind) for kind in LABELS}, used.window.size)
    threshold = round(100 * conf.policy(conversation.policy).threshold)
    return Meter(used.total, used.window.size, used.percent, threshold, used.window.reserve, parts)


def shares(tokens: Mapping[str, int], window: int) -> tuple[Part, ...]:
    """Of the window, by kind."""
    parts: list[Part] = []
    start = 0.0
    for kind, label in LABELS.items():
        width = max(100 * tokens[kind] / window, VISIBLE) if tokens[kind] else 0.0
        parts.append(Part(kind, label, tokens[kind], round(start, 2), round(width, 2)))
        start += width
    return tuple(parts)
