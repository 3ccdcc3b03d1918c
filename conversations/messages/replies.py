"""Replies as rows: pending, ended once, abandoned, tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import transaction
from django.utils import timezone

from compression.ids import milliseconds_since, uuid7
from compression.leases import expiry
from conversations import limits
from conversations.context import transcript
from conversations.errors import Conflict
from conversations.llm.profiles import profile_for
from conversations.messages import reply_lease, tool_calls
from conversations.messages.answer import Answer
from conversations.models import Conversation, Message
from conversations.runtime import metrics, queue
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish

logger = logging.getLogger(__name__)

Status, Role = Message.Status, Message.Role

UNFINISHED = (Status.FAILED, Status.INTERRUPTED, Status.STOPPED)
INTERRUPTED = "The server stopped before the reply was whole."


def retry(conversation: Conversation, message_id: UUID) -> Message:
    """A new reply in place of an unfinished one, which stays, out of the history. Raises Conflict."""
    with transaction.atomic():
        lock_conversation(conversation)
        rows = Message.objects.filter(conversation=conversation, replaced_by=None)
        old = rows.order_by("-created_at").first()
        if old is None or old.pk != message_id or old.role != Role.ASSISTANT:
            raise Conflict("Only the last reply can be tried again.")
        if old.status not in UNFINISHED:
            raise Conflict("This reply did not fail.")
        conversation.refresh_from_db(fields=["compressed_at"])
        earlier = rows.filter(transcript.HISTORY, created_at__lt=old.created_at).order_by("-created_at")
        asked_at = earlier.values_list("created_at", flat=True).first()
        if conversation.compressed_at and asked_at and asked_at <= conversation.compressed_at:
            raise Conflict("What was asked is part of a summary already. Undo the compaction, or ask again.")
        reply = store_reply(conversation, **old.replacement_columns)
        Message.objects.filter(pk=old.pk).update(replaced_by=reply)
        transaction.on_commit(partial(publish, conversation.pk, EventType.RESYNC))
        answer_later(reply)
    return reply


def store_reply(conversation: Conversation, **fields: Any) -> Message:
    """A pending reply to the history as it is; under `lock`. Raises Conflict while one runs."""
    reply = pending(conversation, next_moment(conversation.pk), **fields)
    reply.save(force_insert=True)
    return reply


def answer_later(reply: Message) -> None:
    """Have a pending reply written, after the commit and what is published with it."""
    token = [str(reply.lease_token)] if reply.lease_token else []
    queue.enqueue("answer", str(reply.conversation_id), str(reply.pk), *token)


async def hand_back(conversation_id: UUID, reply_id: UUID, token: UUID) -> None:
    """This worker stops before a word was written: another one is woken up, or the next sweep finds the reply."""
    if await sync_to_async(reply_lease.hand_back)(reply_id, token):
        # Not in the thread of the database: a broker that is away would hold up what else is handed back.
        await asyncio.to_thread(queue.enqueue, "answer", str(conversation_id), str(reply_id))


def lock_conversation(conversation: Conversation, **changed: Any) -> None:
    """Lock the conversation's row by writing to it; other writers wait until this transaction ends."""
    changed["updated_at"] = timezone.now()
    if not Conversation.objects.filter(pk=conversation.pk).update(**changed):
        raise Conflict("This conversation was deleted meanwhile.", code="deleted")
    for name, value in changed.items():
        setattr(conversation, name, value)


def finish(
    answer: Answer,
    token: UUID,
    *,
    status: str,
    tokens: int,
    error: str = "",
    error_code: str = "",
    also: Callable[[], None] | None = None,
) -> tuple[Message, Message | None] | None:
    """End a reply that is ours to write, once. None where it has ended already, is another worker's, or is gone.

    `answer` is what was written of it, its `tokens` counted before. Where it called tools, it comes with the reply
    that follows on what they give: pending, and ours by the same token. What is to be done `also` is done where it
    was ours to end, in the same transaction.
    """
    # What is noted is stored by itself: in a transaction, a conversation that was deleted meanwhile would break that.
    columns = answer.columns() | _over(answer.id)
    columns |= {"status": status, "token_count": tokens, "error": error, "error_code": error_code}
    following = None
    if answer.calls or also:
        with transaction.atomic():
            reply_lease.in_order(answer.id)
            ended = reply_lease.held(answer.id, token).update(**columns)
            following = _followed(answer, token) if ended and answer.calls else None
            if ended and also:
                also()
    else:
        ended = reply_lease.held(answer.id, token).update(**columns)
    answer.teach_correction()
    if not ended:
        return None
    reply = Message.objects.get(pk=answer.id)
    _report(reply)
    return reply, following


def _followed(answer: Answer, token: UUID) -> Message:
    """The calls of a reply that has ended just now, and the reply that they are carried out for.

    One that another process was asked to stop meanwhile hands that on, and how many workers have died of the turn.
    """
    reply = Message.objects.get(pk=answer.id)
    tool_calls.store(reply, answer.calls)
    return Message.objects.create(
        conversation_id=reply.conversation_id,
        role=Role.ASSISTANT,
        status=Status.STREAMING,
        created_at=next_moment(reply.conversation_id),
        lease_token=token,
        lease_expires_at=expiry(),
        stopping_at=reply.stopping_at,
        takeovers=reply.takeovers,
    )


def give_up(reply: Message, *, status: str, error: str = "", error_code: str = "") -> bool:
    """End a reply that nobody is writing, with what was saved of it; False where somebody has taken it up."""
    rows = Message.objects.filter(pk=reply.pk, status=Status.STREAMING, lease_token=reply.lease_token)
    ended = rows.filter(lease_expires_at=reply.lease_expires_at).update(
        status=status,
        error=error,
        error_code=error_code,
        token_count=tool_calls.tokens_of(reply.content, ()),
        **_over(reply.pk),
    )
    if ended:
        transaction.on_commit(partial(publish, reply.conversation_id, EventType.RESYNC))
        for row in Message.objects.filter(pk=reply.pk):
            _report(row)
    return bool(ended)


def _over(reply_id: UUID) -> dict[str, Any]:
    """The columns of a reply that nobody writes any more: its time is from when it was asked for until now."""
    return {"duration_ms": milliseconds_since(reply_id), "lease_token": None, "lease_expires_at": None}


def _report(reply: Message) -> None:
    """Count and log a reply that has ended: ids and figures, and nothing that was said."""
    ms = reply.duration_ms or 0
    metrics.turn_ended(model=reply.model, status=reply.status, ms=ms, first_token_ms=reply.first_token_ms)
    ids = {"conversation_id": str(reply.conversation_id), "reply_id": str(reply.pk)}
    tokens = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
    logger.info("reply ended", extra=ids | tokens | {"model": reply.model, "status": reply.status, "ms": ms})


def settle_model(conversation_id: UUID) -> None:
    """Make sure that the window a request is measured against is that of the model it goes to.

    A model that is gone or disabled is replaced by the default one. Raises NotConfigured.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    own = rows.values_list("model_id", flat=True).first()
    profile = profile_for(own)
    if profile.pk != own:
        rows.update(model=profile)


def pending(conversation: Conversation, moment: datetime, **fields: Any) -> Message:
    """A reply that is to be written, not stored yet; this process's own where it is the one to write it.

    Raises TooMany.
    """
    limits.require_turn(conversation.owner_id)
    return Message(
        conversation=conversation,
        role=Role.ASSISTANT,
        status=Status.STREAMING,
        created_at=moment,
        lease_token=uuid7() if queue.is_here() else None,
        lease_expires_at=expiry(),
        **fields,
    )


def next_moment(conversation_id: UUID) -> datetime:
    """Now, or just after the last message where the clock says less: strictly increasing within a conversation.

    Raises Conflict while the last message is a reply that is still being written.
    """
    last = Message.objects.filter(conversation_id=conversation_id).order_by("-created_at")
    found = last.values_list("created_at", "status").first()
    if found is None:
        return timezone.now()
    created_at, status = found
    if status == Status.STREAMING:
        raise Conflict("A reply is still being written: stop it, or wait for it.", code="reply_running")
    return max(timezone.now(), created_at + timedelta(microseconds=1))
