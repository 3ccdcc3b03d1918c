"""Stores replies: creates pending ones, ends each exactly once, gives up abandoned ones, retries failed ones."""

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
from django.utils.translation import gettext as _

from compression.ids import milliseconds_since, uuid7
from compression.leases import expiry
from conversations import limits, spending
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
    """Replace an unfinished reply by a new pending one; the old row is kept outside the history. Raises Conflict."""
    with transaction.atomic():
        lock_conversation(conversation)
        rows = Message.objects.filter(conversation=conversation, replaced_by=None)
        old = rows.order_by("-created_at").first()
        if old is None or old.pk != message_id or old.role != Role.ASSISTANT:
            raise Conflict(_("Only the last reply can be tried again."))
        if old.status not in UNFINISHED:
            raise Conflict(_("This reply did not fail."))
        conversation.refresh_from_db(fields=["compressed_at"])
        earlier = rows.filter(transcript.HISTORY, created_at__lt=old.created_at).order_by("-created_at")
        asked_at = earlier.values_list("created_at", flat=True).first()
        if conversation.compressed_at and asked_at and asked_at <= conversation.compressed_at:
            raise Conflict(_("The question is already part of a summary. Undo the compaction, or ask again."))
        reply = store_reply(conversation, **old.replacement_columns)
        Message.objects.filter(pk=old.pk).update(replaced_by=reply)
        transaction.on_commit(partial(publish, conversation.pk, EventType.RESYNC))
        answer_later(reply)
    return reply


def store_reply(conversation: Conversation, **fields: Any) -> Message:
    """Store a pending reply to the present history; under `lock_conversation`. Raises Conflict while a reply runs."""
    reply = pending(conversation, next_moment(conversation.pk), **fields)
    reply.save(force_insert=True)
    return reply


def answer_later(reply: Message) -> None:
    """Have a pending reply written in the background, after the commit and the events published with it."""
    token = [str(reply.lease_token)] if reply.lease_token else []
    queue.enqueue("answer", str(reply.conversation_id), str(reply.pk), *token)


async def hand_back(conversation_id: UUID, reply_id: UUID, token: UUID) -> None:
    """Give up an empty reply because this worker stops: another worker is woken up, or the next sweep finds it."""
    if await sync_to_async(reply_lease.hand_back)(reply_id, token):
        # Not in the database's thread: an unreachable broker would delay the other replies that are handed back.
        await asyncio.to_thread(queue.enqueue, "answer", str(conversation_id), str(reply_id))


def lock_conversation(conversation: Conversation, **changed: Any) -> None:
    """Lock the conversation's row by writing to it; other writers wait until this transaction ends."""
    changed["updated_at"] = timezone.now()
    if not Conversation.objects.filter(pk=conversation.pk).update(**changed):
        raise Conflict(_("This conversation was deleted meanwhile."), code="deleted")
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
    """End a reply once, if `token` still holds its lease; None if it has ended, is another worker's, or is gone.

    `answer` is the reply as far as it was written, and `tokens` its tokens. Returns the reply with its conversation and
    model and, if it called tools, the pending reply that follows on their results, held by the same token. `also` runs
    in the same transaction, if the reply was ended.
    """
    # The request's texts are stored before the transaction: if the conversation was deleted, they would break it.
    columns = answer.columns() | _over(answer.id)
    columns |= {"status": status, "token_count": tokens, "error": error, "error_code": error_code}
    following = None
    # One transaction: a reply that has ended is counted, and one that is saved again after a fault is counted once.
    with transaction.atomic():
        reply_lease.in_order(answer.id)
        ended = reply_lease.held(answer.id, token).update(**columns)
        if ended:
            following = _followed(answer, token) if answer.calls else None
            if also:
                also()
            reply = Message.objects.select_related("conversation__model").get(pk=answer.id)
            used = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
            spending.count(reply.conversation.owner_id, used, reply.cost_usd)
    answer.teach_profile()
    if not ended:
        return None
    _report(reply)
    return reply, following


def _followed(answer: Answer, token: UUID) -> Message:
    """Store the tool calls of a reply that has ended just now, and the pending reply that will follow on them.

    The new reply takes over a pending request to stop, and the number of workers that have taken up the turn.
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
    """End a reply without a worker, keeping its saved text; False if a worker has taken it up meanwhile."""
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
    """The columns of an ended reply: no lease, and the time from its request until now as its duration."""
    return {"duration_ms": milliseconds_since(reply_id), "lease_token": None, "lease_expires_at": None}


def _report(reply: Message) -> None:
    """Count and log an ended reply: its ids and figures, never its text."""
    ms = reply.duration_ms or 0
    metrics.turn_ended(model=reply.model, status=reply.status, ms=ms, first_token_ms=reply.first_token_ms)
    ids = {"conversation_id": str(reply.conversation_id), "reply_id": str(reply.pk)}
    tokens = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
    logger.info("reply ended", extra=ids | tokens | {"model": reply.model, "status": reply.status, "ms": ms})


def settle_model(conversation_id: UUID) -> None:
    """Replace a model that a conversation may not use any more by the default. Raises NotConfigured, OverBudget.

    The next request is then measured against the window of the model that it is sent to.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    own, owner_id = rows.values_list("model_id", "owner_id").first() or (None, 0)
    spending.require_budget(owner_id)
    profile = profile_for(own, owner_id)
    if profile.pk != own:
        rows.update(model=profile)


def pending(conversation: Conversation, moment: datetime, **fields: Any) -> Message:
    """An unsaved pending reply; this process holds its lease if it writes replies itself.

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
    """The time for the next message: now, but always later than the conversation's last message.

    Raises Conflict while the last message is a reply that is still being written.
    """
    last = Message.objects.filter(conversation_id=conversation_id).order_by("-created_at")
    found = last.values_list("created_at", "status").first()
    if found is None:
        return timezone.now()
    created_at, status = found
    if status == Status.STREAMING:
        raise Conflict(_("A reply is still being written: stop it, or wait for it."), code="reply_running")
    return max(timezone.now(), created_at + timedelta(microseconds=1))
