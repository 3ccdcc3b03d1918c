"""Rebuilds the events that a program has missed from the rows: events themselves are not stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from compression.core.values import Window
from compression.models import Compaction
from conversations.api.events import cursor
from conversations.api.events.cursor import ENDED, Cursor
from conversations.context import transcript
from conversations.messages.cursors import EPOCH, microseconds, moment_at
from conversations.messages.history import with_parts
from conversations.models import Conversation, Message
from conversations.requests import usage
from conversations.runtime import event_types
from conversations.runtime.event_types import EventType
from conversations.runtime.payloads import (
    call_json,
    completed_json,
    message_json,
    progress_json,
    run_with_usage_json,
    started_json,
    usage_json,
)
from conversations.runtime.subscription import RESYNC, Event
from conversations.turns import running_replies

MAX_MISSED = 500
"""The most messages, and the most compactions, that are sent again. Beyond it, fetching the conversation is better."""


class SentEvent(NamedTuple):
    """An event, and the place in the conversation after it."""

    event: Event
    place: Cursor


@dataclass(slots=True)
class MissedEvents:
    """The missed events in order, from `start` to `place`; `reply_id` is that of the reply in the making, if any."""

    start: Cursor
    place: Cursor
    events: list[SentEvent] = field(default_factory=list)
    reply_id: str = ""
    ended: set[tuple[str, str]] = field(default_factory=set)
    """The compactions whose end is among the events, with their status."""

    def send(self, event: Event, **place: Any) -> None:
        self.place = self.place._replace(**place)
        self.events.append(SentEvent(event, self.place))


def since(conversation_id: UUID, place: Cursor | None, *, resync: bool = False) -> MissedEvents:
    """The events after `place`.

    `resync` asks the program to fetch the conversation; the events ask for it themselves if more has changed than can
    be sent. None stands for now: the text of a reply in the making, and the running compaction, are sent all the same.
    Raises Conversation.DoesNotExist.
    """
    conversation = Conversation.objects.select_related("model").get(pk=conversation_id)
    news = _news(conversation, place) if place else None
    if place is None or news is None:
        resync = place is not None
        place = _now(conversation)
        news = _news(conversation, place) or []
    missed = MissedEvents(place, place)
    for message in _called_before(conversation, place) if place.received == 0 else ():
        _add_calls(missed, message, conversation.window)
    for message in news:
        _add_message(missed, message, conversation.window)
    resync = resync or any(message.replaced_by_id for message in news)
    _add_run(missed, conversation)
    _add_compactions(missed, conversation)
    if cursor.print_of(conversation.title) != place.title:
        event = Event(EventType.TITLE_UPDATED, {"title": conversation.title})
        missed.send(event, title=cursor.print_of(conversation.title))
    if used := usage.usage_of_conversation(conversation):
        missed.send(Event(EventType.USAGE_UPDATED, usage_json(used)))
    if resync or missed.place.version != conversation.compression_version:
        missed.send(RESYNC, version=conversation.compression_version)
    return missed


def _now(conversation: Conversation) -> Cursor:
    last = conversation.messages.order_by("-created_at").values_list("created_at", "status").first()
    at, status = last or (EPOCH, "")
    return cursor.before(conversation, at, received=0 if status == Message.Status.STREAMING else ENDED)


def _news(conversation: Conversation, place: Cursor) -> list[Message] | None:
    """The message at the place and those after it, at most MAX_MISSED.

    None if the program has to fetch the conversation: more messages follow, the one at the place is gone, or the place
    is another conversation's.
    """
    if place.conversation != cursor.short(conversation.pk):
        return None
    rows = conversation.messages.filter(created_at__gte=moment_at(place.at)).order_by("created_at")
    found = list(with_parts(rows)[: MAX_MISSED + 2])
    if place.at and not (found and microseconds(found[0].created_at) == place.at):
        return None
    return found if len(found) <= MAX_MISSED + 1 else None


def _add_message(missed: MissedEvents, row: Message, window: Window) -> None:
    """Send the part of a message that the program lacks. A replaced message is sent only to a program that knows it."""
    at, payload = microseconds(row.created_at), message_json(row, window)
    if at > missed.place.at:
        if row.replaced_by_id:
            return
        missed.send(
            Event(EventType.MESSAGE_CREATED, {"message": payload | _begun(row)}), at=at, received=_received(row)
        )
    if missed.place.received == ENDED:
        return
    _add_words(missed, row)
    if row.is_streaming:
        missed.reply_id = str(row.pk)
    else:
        missed.send(Event(event_types.ended(failed=row.is_failed), {"message": payload}), received=ENDED)
        _add_calls(missed, row, window)


def _add_calls(missed: MissedEvents, row: Message, window: Window) -> None:
    """Send each tool call as it is now."""
    for call in row.tool_calls.all():
        payload = call_json(call, window, most=settings.TOOL_RESULT_MAX_CHARS)
        missed.send(Event(EventType.TOOL_UPDATED, {"message_id": str(row.pk), "call": payload}))


def _called_before(conversation: Conversation, place: Cursor) -> list[Message]:
    """The last message before the place, if any: a reply without text may wait for its tools."""
    earlier = conversation.messages.filter(created_at__lt=moment_at(place.at), replaced_by=None)
    return list(earlier.order_by("-created_at").prefetch_related("tool_calls")[:1])


def _add_run(missed: MissedEvents, conversation: Conversation) -> None:
    """Send an agent's latest run as it is now, without its steps."""
    if conversation.kind == Conversation.Kind.AGENT and (run := conversation.agent_runs.last()):
        used = usage.flow_usage(transcript.load(run.thread_id))
        missed.send(Event(EventType.RUN_UPDATED, {"run": run_with_usage_json(run, used)}))


def _begun(row: Message) -> dict[str, str]:
    """The values in which the announcement of a message differs from it: a streaming reply is empty, as its text
    follows.
    """
    return {"content": ""} if row.is_streaming else {}


def _received(row: Message) -> int:
    """How far the announcement of a message goes: the number of a reply's characters, ENDED for any other message."""
    if row.is_streaming:
        return 0
    return len(row.content) if row.role == Message.Role.ASSISTANT else ENDED


def _add_words(missed: MissedEvents, row: Message) -> None:
    at, text = missed.place.received, running_replies.text_so_far(row) if row.is_streaming else row.content
    if len(text) > at:
        event = Event(EventType.MESSAGE_DELTA, {"id": str(row.pk), "text": text[at:], "at": at})
        missed.send(event, received=len(text))


def _add_compactions(missed: MissedEvents, conversation: Conversation) -> None:
    """Send the compactions that ended since, and the running one."""
    since = moment_at(missed.place.folded)
    for row in conversation.compactions.filter(finished_at__gt=since).order_by("finished_at")[:MAX_MISSED]:
        missed.ended.add((str(row.pk), row.status))
        version = missed.place.version + (row.status == Compaction.Status.SUCCEEDED)
        missed.send(completed(row), folded=microseconds(row.finished_at or since), folding="", version=version)
    for row in conversation.compactions.filter(status__in=Compaction.ACTIVE):
        if missed.place.folding != (id := cursor.short(row.pk)):
            missed.send(Event(EventType.COMPACTION_STARTED, started_json(row)), folding=id)
        if row.stage:
            missed.send(Event(EventType.COMPACTION_PROGRESS, progress_json(row, row.percent)))


def completed(row: Compaction) -> Event:
    """The event of a compaction's end, as it was sent at the time."""
    return Event(EventType.COMPACTION_COMPLETED, completed_json(row))
