"""Commands that are sent as messages: `/compact`, which means the same as on the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http.response import HttpResponseBase
from ninja import Status

from compression.core.values import Steering
from compression.models import Compaction
from conversations.api.events import cursor
from conversations.api.events.catch_up import completed
from conversations.api.events.sse import HEARTBEAT, event_stream, numbered
from conversations.api.events.subscription import heard
from conversations.api.schemas.messages import NewMessage
from conversations.compaction import compaction
from conversations.errors import Invalid
from conversations.messages.cursors import EPOCH
from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.events import hub
from conversations.runtime.payloads import compaction_json
from conversations.runtime.subscription import RESYNC, Event, Listener


async def compact(conversation: Conversation, instructions: str, body: NewMessage) -> HttpResponseBase | Status:
    """Begin a compaction. Raises Invalid if files are attached, Conflict while a compaction runs, or TooMany."""
    if body.attachments:
        raise Invalid("attachments: /compact is a command, and takes no files.", field="attachments")
    with ExitStack() as listening:
        listener = listening.enter_context(hub.listen(conversation.pk))
        row = await sync_to_async(compaction.request)(
            conversation,
            trigger=Compaction.Trigger.API,
            steering=Steering(instructions=instructions, quality="standard"),
        )
        if body.stream:
            place = await sync_to_async(cursor.before)(conversation, EPOCH)
            return event_stream(numbered(_until_ended(listener, row.pk), place), listening.pop_all().close)
    row = await Compaction.objects.aget(pk=row.pk)
    return Status(202, {"task_id": str(row.pk), "compaction": compaction_json(row)})


async def _until_ended(listener: Listener, compaction_id: UUID) -> AsyncIterator[Event | None]:
    """The events up to the end of a compaction, which is the last one; None for a silence."""
    while True:
        event = await heard(listener, HEARTBEAT)
        if event is None or event == RESYNC:  # its end may have been missed
            row = await Compaction.objects.filter(pk=compaction_id).afirst()
            if row is None or not row.is_active:
                if row:
                    yield completed(row)
                return
        yield event
        if event and event.type == EventType.COMPACTION_COMPLETED and event.data["id"] == str(compaction_id):
            return
