"""A reply as it comes: the conversation's events until it has ended, also as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from conversations.api.missed import Told
from conversations.api.places import Place
from conversations.api.telling import heard
from conversations.listener import RESYNC, Event, Listener
from conversations.models import Message
from conversations.shapes import message_json

HEARTBEAT = 5.0
"""Seconds without an event after which a comment is sent, and the row is asked whether the reply has ended."""
ENDS = ("message.done", "message.failed")
BEAT = ": heartbeat\n\n"


async def until_ended(listener: Listener, reply_id: UUID, *, ask_first: bool) -> AsyncIterator[Event | None]:
    """The events up to the reply's end, which is the last; None for a silence.

    `ask_first`: the reply may have ended before anyone listened. What the listener missed is read from the row.
    """
    missed = ask_first
    while True:
        if missed and (end := await sync_to_async(_end)(reply_id)):
            yield end
            return
        event = await heard(listener, HEARTBEAT)
        missed = event is None or event == RESYNC
        yield event
        if event and event.type in ENDS and event.data["message"]["id"] == str(reply_id):
            return


async def numbered(events: AsyncIterator[Event | None], place: Place) -> AsyncIterator[Told | None]:
    """With how far one is after each of them, from `place` on."""
    async for event in events:
        place = place.after(event) if event else place
        yield Told(event, place) if event else None


def event_stream(
    events: AsyncIterator[Told | None], close: Callable[[], object], *, first: str = ""
) -> StreamingHttpResponse:
    """`first` is sent at once; `close` is called when the stream is over, whoever ended it."""
    response = StreamingHttpResponse(_Stream(events, close, first), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


class _Stream:
    """Django closes it even where nothing was read of it, as it does with files; a generator would not notice."""

    def __init__(self, events: AsyncIterator[Told | None], close: Callable[[], object], first: str) -> None:
        self.events, self.first = events, first
        self.close = close

    async def __aiter__(self) -> AsyncIterator[str]:
        if self.first:
            yield self.first
        async for told in self.events:
            yield written(told) if told else BEAT


def written(told: Told) -> str:
    return f"id: {told.place.id}\nevent: {told.event.type}\ndata: {json.dumps(told.event.data)}\n\n"


def _end(reply_id: UUID) -> Event | None:
    """How the reply ended, or None while it is being written; one that was deleted has failed."""
    reply = Message.objects.filter(pk=reply_id).first()
    if reply is None:
        return Event("message.failed", {"message": {"id": str(reply_id), "status": "failed", "error": "deleted"}})
    if reply.is_streaming:
        return None
    return Event("message.failed" if reply.is_failed else "message.done", {"message": message_json(reply)})
