"""The budgets of a chat's requests: the next one as it is, as it is after a compaction, and the room of each part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.page.meter import Meter, Part, shares

LABELS = {
    "system": gettext_noop("System prompt, tools, rules"),
    "summary": gettext_noop("Summary"),
    "recalled": gettext_noop("Recalled, for each message"),
    "live": gettext_noop("Messages, word for word"),
    "reply": gettext_noop("Kept for the reply"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One part of a request, in tokens; `after` is None if nothing can be compacted."""

    kind: str
    label: str
    now: int
    after: int | None
    room: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A request drawn on the scale of the window."""

    label: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Budgets:
    """`total` is the sum of the rows without the reply."""

    rows: tuple[Row, ...]
    total: Row
    bars: tuple[Bar, ...]


def budgets(meter: Meter) -> Budgets:
    """The rows and bars for a meter."""
    now = _by_kind(meter)
    after = {**meter.after.tokens, "reply": meter.reserve} if meter.after else None
    room = meter.budgets
    rows = tuple(
        Row(kind, _(label), now[kind], after[kind] if after else None, room[kind]) for kind, label in LABELS.items()
    )
    drawn = {_("Room"): room, _("Now"): now} | ({_("After"): after} if after else {})
    return Budgets(
        rows,
        Row("", _("Without the reply"), meter.used, meter.left, meter.window - meter.reserve),
        tuple(Bar(label, shares(tokens, meter.window, LABELS)) for label, tokens in drawn.items()),
    )


def _by_kind(meter: Meter) -> Mapping[str, int]:
    """The tokens of the meter's parts, those of one budget together."""
    tokens = {part.kind: part.tokens for part in meter.parts}
    return {
        "system": tokens.get("system", 0) + tokens.get("project", 0) + tokens.get("tools", 0),
        "summary": tokens.get("summary", 0),
        "recalled": tokens.get("recalled", 0),
        "live": tokens.get("live", 0) + tokens.get("protected", 0),
        "reply": meter.reserve,
    }
