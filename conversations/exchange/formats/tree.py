"""Conversations that other sites store as trees: every edit and every second answer begins a branch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from conversations.exchange.fields import fault, read_object
from conversations.exchange.formats.messages import MAX_MESSAGES

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def read_nodes(value: object) -> dict[str, dict[str, Any]]:
    """The nodes of a `mapping` by their names; none if it is missing. Raises Invalid, naming the place."""
    mapping = read_object("mapping", value) if value is not None else {}
    if len(mapping) > MAX_MESSAGES:
        raise fault("mapping", f"at most {MAX_MESSAGES:,}, not {len(mapping):,}.")
    return {name: read_object(f"mapping.{name[:60]}", node) for name, node in mapping.items() if node is not None}


def parents_in(nodes: Mapping[str, dict[str, Any]]) -> dict[str, str | None]:
    """The parent of each node; None if the file does not have it."""
    named = {name: node.get("parent") for name, node in nodes.items()}
    return {name: parent if isinstance(parent, str) and parent in nodes else None for name, parent in named.items()}


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
