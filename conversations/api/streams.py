"""A reply as it comes: the conversation's events until it has ended, also as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from conversations.events import RESYNC, Event, Listener
from conversations.models import Message
from conversations.shapes import message_json

HEARTBEAT = 5.0
"""Seconds without an event after which a comment is sent, and the row is asked whether the reply has ended."""
ENDS = ("message.done", "message.failed")


async def until_ended(listener: Listener, reply_id: UUID, *, ask_first: bool) -> AsyncIterator[Event | None]:
    """The events up to the reply's end, which is the last; None for a silence.

    `ask_first`: the reply may have ended before anyone listened. What the listener missed is read from the row.
    """
    missed = ask_first
    while True:
        if missed and (end := await sync_to_async(_end)(reply_id)):
            yield end
            return
        event = await _next(listener)
        missed = event is None or event == RESYNC
        yield event
        if event and event.type in ENDS and event.data["message"]["id"] == str(reply_id):
            return


def event_stream(events: AsyncIterator[Event | None], close: Callable[[], None]) -> StreamingHttpResponse:
    """`close` is called when the stream is over, whoever ended it."""
    response = StreamingHttpResponse(_Stream(events, close), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


class _Stream:
    """Django closes it even where nothing was read of it, as it does with files; a generator would not notice."""

    def __init__(self, events: AsyncIterator[Event | None], close: Callable[[], None]) -> None:
        self.events = events
        self.close = close

    async def __aiter__(self) -> AsyncIterator[str]:
        async for event in self.events:
            yield f"event: {event.type}\ndata: {json.dumps(event.data)}\n\n" if event else ": heartbeat\n\n"


async def _next(listener: Listener) -> Event | None:
    try:
        return await asyncio.wait_for(listener.queue.get(), HEARTBEAT)
    except TimeoutError:
        return None


def _end(reply_id: UUID) -> Event | None:
    """How the reply ended, or None while it is being written; one that was deleted has failed."""
    reply = Message.objects.filter(pk=reply_id).first()
    if reply is None:
        return Event("message.failed", {"message": {"id": str(reply_id), "status": "failed", "error": "deleted"}})
    if reply.is_streaming:
        return None
    return Event("message.failed" if reply.is_failed else "message.done", {"message": message_json(reply)})
