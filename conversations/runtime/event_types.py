"""The kinds of events: the one list of their names, for publishers, the page, the API and docs/events.md."""

from __future__ import annotations

from enum import StrEnum


class EventType(StrEnum):
    """Kinds that pages and programs receive. `docs/events.md` describes the data of each."""

    MESSAGE_CREATED = "message.created"
    MESSAGE_DELTA = "message.delta"
    MESSAGE_THOUGHT = "message.thought"
    MESSAGE_DONE = "message.done"
    MESSAGE_FAILED = "message.failed"
    TOOL_UPDATED = "tool.updated"
    RUN_UPDATED = "run.updated"
    STEP_CREATED = "step.created"
    COMPACTION_STARTED = "compression.started"
    COMPACTION_PROGRESS = "compression.progress"
    COMPACTION_COMPLETED = "compression.completed"
    USAGE_UPDATED = "usage.updated"
    TITLE_UPDATED = "title.updated"
    QUEUE_UPDATED = "queue.updated"
    RESYNC = "resync"
    CONVERSATION_DELETED = "conversation.deleted"


GROWING = (EventType.MESSAGE_DELTA, EventType.MESSAGE_THOUGHT)
"""These bring further text of a reply, and of the thoughts before it, from a character on."""
ENDS = (EventType.MESSAGE_DONE, EventType.MESSAGE_FAILED)
"""A reply ends with one of these."""


class Signal(StrEnum):
    """Kinds that processes send to themselves and to each other; no page and no program receives them."""

    REPLY_STOP = "reply.stop"
    ACCESS_CHANGED = "access.changed"
    STREAM_END = "end"


def ended(*, failed: bool) -> EventType:
    """The kind that tells of a reply's end."""
    return EventType.MESSAGE_FAILED if failed else EventType.MESSAGE_DONE
