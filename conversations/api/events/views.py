"""/api/conversations/{id}/events: a conversation's events as they happen, and those that were missed."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial
from typing import Annotated
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import Http404
from django.http.response import HttpResponseBase
from ninja import Query, Router

from conversations import limits
from conversations.access import TO_READ, get_conversation
from conversations.api.auth import Request
from conversations.api.events import catch_up, cursor
from conversations.api.events.sse import BEAT, event_stream
from conversations.api.events.subscription import Subscription
from conversations.api.openapi import EVENTS, refuses
from conversations.errors import TooMany
from conversations.models import Conversation, User
from conversations.runtime import metrics, shutdown
from conversations.runtime.events import hub

router = Router(tags=["events"])

LastId = Annotated[
    str, Query(max_length=200, description="The id of the last event that was read; the header goes before it.")
]
LAST = {
    "in": "header",
    "name": cursor.HEADER,
    "required": False,
    "description": "The id of the last event that was read: the events missed since come first.",
    "schema": {"type": "string", "maxLength": 200},
}

RETRY_MS = 2_000
"""Milliseconds after which a program connects again."""
HEARTBEAT = 15.0
"""Seconds without an event after which a comment is sent."""
MAX_STREAM_SECONDS = 900.0
"""Seconds after which a stream ends, so that a new connection has to show a key that is still valid."""


@router.get(
    "/{uuid:conversation_id}/events",
    summary="Listen to a conversation",
    operation_id="events_events",
    openapi_extra=refuses(also=EVENTS) | {"parameters": [LAST]},
)
async def stream_events(
    request: Request,
    conversation_id: UUID,
    last_event_id: LastId = "",
) -> HttpResponseBase:
    """Server-sent events, without an end. After a `Last-Event-ID`, the events missed since come first."""
    last = request.headers.get(cursor.HEADER) or last_event_id
    place = cursor.parse_cursor(last) if last else None
    with ExitStack() as open_:
        _count(request.auth, open_)
        # Before the rows are read: events that happen meanwhile are not missed.
        listener = open_.enter_context(hub.listen(conversation_id))
        open_.enter_context(shutdown.notified(listener))
        begun = await sync_to_async(_begin)(request.auth, conversation_id, place)
        telling = Subscription(conversation_id, listener, begun)
        events = telling.events(silence=HEARTBEAT, until=listener.loop.time() + MAX_STREAM_SECONDS)
        first = f"retry: {RETRY_MS}\nid: {begun.start.id}\n\n{BEAT}"
        # Django closes a response in any thread; what is counted here is counted on the loop.
        close = partial(asyncio.get_running_loop().call_soon_threadsafe, open_.pop_all().close)
        return event_stream(events, close, first=first)


def _begin(user: User, conversation_id: UUID, place: cursor.Cursor | None) -> catch_up.MissedEvents:
    try:
        return catch_up.since(get_conversation(user, conversation_id, kinds=TO_READ).pk, place)
    except Conversation.DoesNotExist:  # deleted at this moment
        raise Http404("No such conversation.") from None


def _count(user: User, open_: ExitStack) -> None:
    """Count one more stream of this person. Raises TooMany."""
    if not open_.enter_context(limits.one_more_socket(user.pk)):
        raise TooMany(
            "As many of your sockets and streams are open as may be. Close one, or try again soon.",
            retry_after=limits.RETRY_SECONDS,
        )
    open_.enter_context(metrics.streams.track_inprogress())
