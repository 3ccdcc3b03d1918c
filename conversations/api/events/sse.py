"""Streams a reply while it is written: the conversation's events until its end, also as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from conversations.api.events.catch_up import SentEvent
from conversations.api.events.cursor import Cursor
from conversations.api.events.subscription import heard
from conversations.messages import turn_replies
from conversations.models import Message
from conversations.runtime import event_types
from conversations.runtime.event_types import ENDS, EventType
from conversations.runtime.payloads import message_json
from conversations.runtime.subscription import RESYNC, Event, Listener

HEARTBEAT = 5.0
"""Seconds without an event after which a comment is sent, and the rows are asked whether the reply has ended."""
BEAT = ": heartbeat\n\n"


async def until_ended(listener: Listener, reply_id: UUID, *, ask_first: bool) -> AsyncIterator[Event | None]:
    """The events up to the end of a turn's last reply, which is the last event; None for a silence.

    A reply that called tools is followed by another. `ask_first`: the reply may have ended before anyone listened.
    Events that the listener missed are read from the rows.
    """
    awaited: UUID | None = reply_id
    is_missed, read = ask_first, set[tuple[str, str]]()
    while True:
        if is_missed and awaited:
            events, awaited = await sync_to_async(_read)(awaited)
            for one in events:
                read.add(_mark(one))
                yield one
        if awaited is None:
            return
        event = await heard(listener, HEARTBEAT)
        is_missed = event is None or event == RESYNC
        if event and _mark(event) in read:
            continue
        if event and event.type in ENDS and _mark(event)[1] == str(awaited):
            awaited = await sync_to_async(_after)(awaited)
        yield event


async def numbered(events: AsyncIterator[Event | None], place: Cursor) -> AsyncIterator[SentEvent | None]:
    """The events with the place after each, beginning at `place`."""
    async for event in events:
        place = place.after(event) if event else place
        yield SentEvent(event, place) if event else None


def event_stream(
    events: AsyncIterator[SentEvent | None], close: Callable[[], object], *, first: str = ""
) -> StreamingHttpResponse:
    """The events as text. `first` is sent at once; `close` is called when the stream ends, however it ends."""
    response = StreamingHttpResponse(_Stream(events, close, first), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


class _Stream:
    """A stream that Django closes even if nothing of it was read, as it does with files; a generator would not be
    closed.
    """

    def __init__(self, events: AsyncIterator[SentEvent | None], close: Callable[[], object], first: str) -> None:
        self.events, self.first = events, first
        self.close = close

    async def __aiter__(self) -> AsyncIterator[str]:
        if self.first:
            yield self.first
        async for sent in self.events:
            yield as_text(sent) if sent else BEAT


def as_text(sent: SentEvent) -> str:
    return f"id: {sent.place.id}\nevent: {sent.event.type}\ndata: {json.dumps(sent.event.data)}\n\n"


def _end(reply_id: UUID) -> Event | None:
    """The event of the reply's end, or None while it is being written; a deleted reply has failed."""
    reply = Message.objects.select_related("conversation__model").filter(pk=reply_id).first()
    if reply is None:
        deleted = {"id": str(reply_id), "status": "failed", "error": "deleted"}
        return Event(EventType.MESSAGE_FAILED, {"message": deleted})
    if reply.is_streaming:
        return None
    return Event(event_types.ended(failed=reply.is_failed), {"message": message_json(reply, reply.conversation.window)})


def _read(reply_id: UUID) -> tuple[list[Event], UUID | None]:
    """(the events of a reply that ended and of those that followed it, the reply that is awaited now; None: the last
    one has ended).
    """
    ends: list[Event] = []
    awaited: UUID | None = reply_id
    while awaited and (end := _end(awaited)):
        ends.append(end)
        awaited = _after(awaited)
        for row in Message.objects.select_related("conversation__model").filter(pk=awaited) if awaited else ():
            begun = message_json(row, row.conversation.window)
            begun |= {"content": "", "status": Message.Status.STREAMING.value}
            ends.append(Event(EventType.MESSAGE_CREATED, {"message": begun}))
    return ends, awaited


def _after(reply_id: UUID) -> UUID | None:
    """The next reply of the same turn; None after the last one."""
    called = Message.objects.filter(pk=reply_id, tool_calls__isnull=False).first()
    following = turn_replies.next_of(called) if called else None
    return following.pk if following else None


def _mark(event: Event) -> tuple[str, str]:
    return event.type, event.data["message"]["id"] if "message" in event.data else ""
