"""Conversations that other sites store as trees: every edit and every second answer begins a branch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from conversations.exchange.fields import fault

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def path(parents: Mapping[str, str | None], leaf: str, *, place: str) -> list[str]:
    """The branch that ends with `leaf`, from the first message whose parent is not in the file.

    Raises Invalid, naming `place`, if the parents form a circle.
    """
    found: dict[str, None] = {}
    at: str | None = leaf
    while at is not None and at in parents:
        if at in found:
            raise fault(place, f"the parents of {at[:60]!r} go round in a circle.")
        found[at] = None
        at = parents[at]
    return list(reversed(found))


def latest_leaf(parents: Mapping[str, str | None], dates: Mapping[str, datetime | None], *, place: str) -> str:
    """The last written message without children; without dates, or with equal ones, the last in the file."""
    followed = set(parents.values())
    leaves = [name for name in parents if name not in followed]
    if not leaves:
        raise fault(place, "the parents go round in a circle: there is no last message.")
    return max(reversed(leaves), key=lambda name: dates[name] or LONG_AGO)
