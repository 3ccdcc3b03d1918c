"""Ids that are added to every line of the log: of the request, the user, the conversation, the reply, the compaction.

Python's contexts carry them into threads and tasks; the queue's messages carry them into other processes. They contain
no text of anybody's messages.
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
    """The present ids by name: request_id, user_id, conversation_id, reply_id, compaction_id."""
    return _ids.get()


def bind(**more: str | int) -> None:
    """Add ids to all lines that are logged from now on in this context."""
    _ids.set({**_ids.get(), **more})


@contextmanager
def bound(**more: str | int) -> Iterator[None]:
    """Add ids to the lines that are logged within the `with` block."""
    before = _ids.set({**_ids.get(), **more})
    try:
        yield
    finally:
        _ids.reset(before)


def compaction_fields(row: Compaction) -> dict[str, Any]:
    """The fields of the log's line about a compaction that has ended."""
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
