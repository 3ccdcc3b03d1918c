"""/api/conversations/{id}/messages: read them, say something, and go another way from what was said."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils import timezone
from ninja import Router, Status

from compression.core.values import Window
from compression.models import Compaction
from conversations.access import TO_READ, disposable_conversation, get_conversation, writable_conversation
from conversations.api import commands
from conversations.api.auth import Request
from conversations.api.events.cursor import before
from conversations.api.events.sse import event_stream, numbered, until_ended
from conversations.api.openapi import EVENTS, refuses
from conversations.api.paging import Cursor, Limit, read_cursor, write_cursor
from conversations.api.parsing import require_body_if_declared
from conversations.api.schemas import messages as schema
from conversations.api.schemas.conversations import ListedConversation
from conversations.api.schemas.fields import described
from conversations.compaction import compaction
from conversations.context.transcript import HISTORY
from conversations.messages import turn_replies
from conversations.messages.cursors import MICROSECOND, not_ours
from conversations.messages.history import history, with_parts
from conversations.messages.protection import protect
from conversations.models import Conversation, Message
from conversations.requests import usage
from conversations.runtime.events import hub
from conversations.runtime.payloads import call_json, compaction_json, conversation_json, message_json, usage_json
from conversations.turns import branches, continue_reply, forks, stop, turn
from conversations.turns.begin import BegunTurn

router = Router(tags=["messages"])


@router.get(
    "/{uuid:conversation_id}/messages",
    operation_id="messages_list_all",
    response=described(schema.MessagePage),
    summary="List messages",
)
def list_messages(request: Request, conversation_id: UUID, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """The messages in order, with the summary at the place where older ones are compacted."""
    conversation = get_conversation(request.auth, conversation_id, kinds=TO_READ)
    after = _place(cursor) if cursor is not None else None
    rows = with_parts(history(conversation)).order_by("created_at")
    if after:
        rows = rows.filter(created_at__gt=after[0])
    items = [((row.created_at, 0), _message_item(row, conversation.window)) for row in rows[: limit + 1]]
    cut = conversation.compressed_at
    if cut and (after is None or (cut, 1) > after):
        items.append(((cut, 1), {"type": "compress", "content": conversation.compressed_context}))
        items.sort(key=lambda item: item[0])
    page, more = items[:limit], len(items) > limit
    return {"items": [item for _, item in page], "next": write_cursor(*_cursor_parts(page[-1][0])) if more else None}


@router.post(
    "/{uuid:conversation_id}/messages",
    operation_id="messages_send",
    response={201: described(schema.Turn), 200: described(schema.Turn), 202: described(schema.BegunCompaction)},
    summary="Send a message",
    openapi_extra=refuses(402, 409, also=EVENTS),
)
async def send_message(request: Request, conversation_id: UUID, body: schema.NewMessage) -> HttpResponseBase | Status:
    """Sends a message and answers once the last reply has ended, or with a stream of its events (`stream`).

    The reply goes on if the caller leaves. Replies that call tools are in `steps`; `assistant_message` is the last
    reply. A message `/compact`, with instructions or without, is not stored: it starts a compaction. The answer is 202
    with its task, which `GET /api/tasks/{task_id}/progress` follows, or with `stream` the events of the compaction.
    """
    conversation = await sync_to_async(writable_conversation)(request.auth, conversation_id)
    if (instructions := compaction.command(body.content)) is not None:
        return await commands.compact(conversation, instructions, body)
    begin = partial(
        turn.begin, conversation, content=body.content, client_id=body.client_id, attachments=body.attachments
    )
    return await _answered(conversation, begin, stream=body.stream)


@router.post(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/regenerate",
    operation_id="messages_regenerate",
    response={201: described(schema.Turn)},
    summary="Regenerate a reply",
    openapi_extra=refuses(409, 413),
)
async def regenerate_reply(request: Request, conversation_id: UUID, message_id: UUID) -> HttpResponseBase | Status:
    """Replaces this reply and everything after it by a new reply. The answer comes once the reply has ended."""
    conversation = await sync_to_async(writable_conversation)(request.auth, conversation_id)
    require_body_if_declared(request)
    return await _answered(conversation, partial(_regenerate, conversation, message_id))


@router.post(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/continue",
    operation_id="messages_go_on",
    response={201: described(schema.Turn)},
    summary="Continue a reply",
    openapi_extra=refuses(409, 413),
)
async def continue_cut_reply(request: Request, conversation_id: UUID, message_id: UUID) -> HttpResponseBase | Status:
    """Asks the model for the rest of the last reply, if that was cut off, stopped or interrupted.

    The `user_message` of the answer is the message that asks for it. The answer comes once the reply has ended.
    """
    conversation = await sync_to_async(writable_conversation)(request.auth, conversation_id)
    require_body_if_declared(request)
    return await _answered(conversation, partial(continue_reply.go_on, conversation, message_id))


@router.post(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/edit",
    operation_id="messages_edit",
    response={201: described(schema.Turn)},
    summary="Edit a question",
    openapi_extra=refuses(409),
)
async def edit_message(
    request: Request, conversation_id: UUID, message_id: UUID, body: schema.NewContent
) -> HttpResponseBase | Status:
    """Replaces the question and everything after it. The answer comes once the new reply has ended."""
    conversation = await sync_to_async(writable_conversation)(request.auth, conversation_id)
    return await _answered(conversation, partial(branches.edit, conversation, message_id, content=body.content))


@router.post(
    "/{uuid:conversation_id}/messages/{uuid:message_id}/fork",
    operation_id="messages_fork",
    response={201: described(ListedConversation)},
    summary="Fork from a message",
    openapi_extra=refuses(409),
)
def fork_conversation(
    request: Request, conversation_id: UUID, message_id: UUID, body: schema.Fork | None = None
) -> Status:
    """Copies the conversation up to and including the message. With `kind`, the copy is an agent."""
    conversation = writable_conversation(request.auth, conversation_id)
    require_body_if_declared(request)
    return Status(201, conversation_json(forks.fork(conversation, message_id, kind=body.kind if body else None)))


@router.patch(
    "/{uuid:conversation_id}/messages/{uuid:message_id}",
    operation_id="messages_change",
    response=described(schema.Message),
    summary="Protect a message",
    openapi_extra=refuses(409),
)
def change_message(
    request: Request, conversation_id: UUID, message_id: UUID, body: schema.MessageChange
) -> dict[str, Any]:
    """A protected message is always sent word for word; it is never compacted."""
    conversation = writable_conversation(request.auth, conversation_id)
    return message_json(protect(conversation, message_id, on=body.is_protected), conversation.window)


@router.post(
    "/{uuid:conversation_id}/stop",
    operation_id="messages_stop",
    response=described(schema.StoppedReply),
    summary="Stop the reply",
    openapi_extra=refuses(409),
)
def stop_reply(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """Ends the reply that is being written, and the tools and the executor at work for it; its text is kept."""
    return {"stopped": stop.stop(disposable_conversation(request.auth, conversation_id))}


async def _answered(
    conversation: Conversation, begin: Callable[[], BegunTurn], *, stream: bool = False
) -> HttpResponseBase | Status:
    """The result of a turn once its reply has ended, or its events as they come."""
    since = timezone.now()
    with ExitStack() as listening:
        # Before anything is stored: no event of the reply may be missed.
        listener = listening.enter_context(hub.listen(conversation.pk))
        begun = await sync_to_async(begin)()
        events = until_ended(listener, begun.reply.pk, ask_first=begun.replayed)
        if stream:
            place = before(conversation, begun.question.created_at - MICROSECOND)
            return event_stream(numbered(events, place), listening.pop_all().close)
        async for _ in events:
            pass
    return Status(200 if begun.replayed else 201, await sync_to_async(_outcome)(conversation, begun, since))


def _regenerate(conversation: Conversation, message_id: UUID) -> BegunTurn:
    reply = branches.regenerate(conversation, message_id)
    asked = conversation.messages.filter(HISTORY, role=Message.Role.USER, created_at__lt=reply.created_at)
    return BegunTurn(asked.latest("created_at"), reply)


def _message_item(row: Message, window: Window) -> dict[str, Any]:
    calls = [call_json(call, window) for call in row.tool_calls.all()]
    return {"type": "message"} | message_json(row, window) | {"tool_calls": calls}


def _place(cursor: str) -> tuple[datetime, int]:
    """After a message (0), or after the summary that stands behind it (1)."""
    moment, rest = read_cursor(cursor)
    if rest not in ("0", "1"):
        raise not_ours()
    return moment, int(rest)


def _cursor_parts(place: tuple[datetime, int]) -> tuple[datetime, str]:
    return place[0], str(place[1])


def _outcome(conversation: Conversation, begun: BegunTurn, since: datetime) -> dict[str, Any]:
    """The result of a turn. A compaction is reported if it ended during the turn."""
    rows = Message.objects.in_bulk([begun.question.pk, begun.reply.pk])
    if len(rows) < 2:
        raise Http404("No such message.")
    *steps, answer = turn_replies.replies_of_turn(rows[begun.reply.pk]) or [rows[begun.reply.pk]]
    try:
        used = usage.usage_of_conversation(conversation)
    except Conversation.DoesNotExist:
        raise Http404("No such conversation.") from None
    ended = conversation.compactions.filter(finished_at__gte=since).exclude(status=Compaction.Status.READY)
    last, window = ended.order_by("finished_at").last(), conversation.window
    return {
        "user_message": message_json(rows[begun.question.pk], window),
        "steps": [_message_item(row, window) for row in steps],
        "assistant_message": message_json(answer, window),
        "usage": usage_json(used) if used else None,
        "compaction": compaction_json(last) if last else None,
    }
