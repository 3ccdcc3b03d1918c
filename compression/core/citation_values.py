"""The outcome of a check of a summary's statements, as it is stored with the summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Unsupported = Literal["mark", "drop", "keep"]
"""The treatment of a statement that no message supports: marked in the text, left out, or left as it is."""

UNSUPPORTED: tuple[Unsupported, ...] = get_args(Unsupported)


@dataclass(frozen=True, slots=True)
class Citations:
    """The sources of a summary's statements, which are numbered as `claims_in` has them.

    `messages` are the ids of the messages that are cited; `places` has, for each statement, their indexes in
    `messages`. `missing` has, by the number of an unsupported statement, its texts that stand in no message.
    `said` counts the statements that say something; `dropped` counts those that were left out.
    """

    messages: tuple[str, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    missing: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    said: int = 0
    dropped: int = 0

    @property
    def unsupported(self) -> int:
        """The number of statements that no message supports."""
        return len(self.missing)

    @property
    def unfound(self) -> frozenset[str]:
        """All texts of statements that stand in no message."""
        return frozenset(text for texts in self.missing.values() for text in texts)

    def ids_of(self, number: int) -> tuple[str, ...]:
        """The ids of the messages that the statement with this number comes from."""
        return tuple(self.messages[place] for place in self.places[number]) if number < len(self.places) else ()


def as_json(citations: Citations | None) -> dict[str, Any] | None:
    """The citations as plain JSON; `from_json` is its inverse."""
    if citations is None:
        return None
    return {
        "messages": list(citations.messages),
        "places": [list(places) for places in citations.places],
        "missing": {str(number): list(texts) for number, texts in citations.missing.items()},
        "said": citations.said,
        "dropped": citations.dropped,
    }


def from_json(saved: Mapping[str, Any] | None) -> Citations | None:
    """The citations that `as_json` saved; None if none were."""
    if saved is None:
        return None
    return Citations(
        tuple(saved["messages"]),
        tuple(map(tuple, saved["places"])),
        {int(number): tuple(texts) for number, texts in saved["missing"].items()},
        saved["said"],
        saved["dropped"],
    )
