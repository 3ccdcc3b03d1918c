"""Whose work a line of the log is of: ids that are known where it is written, and nothing that anybody said.

They go where the work goes: into threads and tasks by Python's own contexts, into other processes by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compression.models import Compaction

Ids = Mapping[str, str | int]

_ids: ContextVar[Ids] = ContextVar("ids", default={})  # noqa: B039 - never changed, only replaced


def ids() -> Ids:
    """By name: request_id, user_id, conversation_id, reply_id, compaction_id."""
    return _ids.get()


def note(**more: str | int) -> None:
    """For all that is logged from here on within this context."""
    _ids.set({**_ids.get(), **more})


@contextmanager
def noted(**more: str | int) -> Iterator[None]:
    """For what is logged within it."""
    before = _ids.set({**_ids.get(), **more})
    try:
        yield
    finally:
        _ids.reset(before)


def figures_of(row: Compaction) -> dict[str, Any]:
    """What the log says of a compaction that has ended."""
    return {
        "compaction_id": str(row.pk),
        "conversation_id": str(row.conversation_id),
        "trigger": row.trigger,
        "status": row.status,
        "strategy": row.strategy,
        "summariser": row.summariser,
        "before": row.before,
        "after": row.after,
        "facts_found": row.facts_found,
        "facts_kept": row.facts_kept,
        "ms": row.duration_ms,
    }
