"""Recovers replies and compactions whose worker is gone: each is taken up again, or ended.

The rows hold the work and its leases; a queue entry only wakes a worker up. Every change here is a conditional update,
so any number of processes may sweep at the same time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from compression.core.error_codes import ErrorCode
from compression.leases import expiry
from compression.models import Compaction
from conversations.agents import dispatch
from conversations.compaction import lease
from conversations.context import transcript
from conversations.messages import replies, reply_lease
from conversations.models import Message
from conversations.runtime import queue

Status = Message.Status

TAKEOVERS = 3
"""How many more workers may take up a turn, one after the other, after its worker has died."""
NOBODY = "No worker took this up. Your message is kept. Try again, and tell the operator if it stays so."


def sweep() -> int:
    """Recover every reply and compaction whose lease has expired; returns their number."""
    now = timezone.now()
    replies_found = list(Message.objects.streaming().filter(_expired(now)))
    for reply in replies_found:
        _see_to(reply, now)
    compactions = list(lease.expired(now))
    for row in compactions:
        lease.recover(row, now=now)
    return len(replies_found) + len(compactions)


def disown_all() -> None:
    """Expire all leases. The only server of a database calls this at its start, when no other worker can exist."""
    past = timezone.now() - timedelta(seconds=1)
    Message.objects.streaming().update(lease_expires_at=past)
    Compaction.objects.filter(status__in=Compaction.ACTIVE).update(lease_expires_at=past)


def _expired(now: datetime) -> Q:
    return Q(lease_expires_at=None) | Q(lease_expires_at__lt=now)


def is_over(reply: Message, now: datetime) -> bool:
    return reply.lease_expires_at is None or reply.lease_expires_at < now


def _see_to(reply: Message, now: datetime) -> None:
    was_begun = reply.lease_token is not None
    may_go_on = not reply.content and (reply.takeovers or 0) < TAKEOVERS
    if reply.stopping_at is not None:
        give_up(reply, status=Status.STOPPED)
    elif was_begun and not may_go_on:
        give_up(reply, status=Status.INTERRUPTED, error=replies.INTERRUPTED, error_code=ErrorCode.WORKER_STOPPED)
    elif not was_begun and reply.created_at < now - lease.GIVE_UP and not (may_go_on and _is_under_way(reply)):
        give_up(reply, status=Status.FAILED, error=NOBODY, error_code=ErrorCode.WORKER_STOPPED)
    elif _woken(reply):
        queue.enqueue("answer", str(reply.conversation_id), str(reply.pk))


def _is_under_way(reply: Message) -> bool:
    """Whether tools were called for this reply; it can go on from their stored results."""
    earlier = Message.objects.filter(transcript.HISTORY, conversation=reply.conversation_id)
    last = earlier.filter(created_at__lt=reply.created_at).order_by("-created_at").first()
    return last is not None and last.role == Message.Role.ASSISTANT and last.tool_calls.exists()


def give_up(reply: Message, *, status: str, error: str = "", error_code: str = "") -> bool:
    """End a reply without a worker, and abandon the tool calls made for it; False if a worker took it up meanwhile."""
    with transaction.atomic():
        reply_lease.in_order(reply.pk)
        ended = replies.give_up(reply, status=status, error=error, error_code=error_code)
        if ended:
            dispatch.abandon(reply.conversation_id)
    return ended


def _woken(reply: Message) -> bool:
    """Take the right to wake a worker for this reply: no other process does until the new lease expires."""
    rows = Message.objects.filter(pk=reply.pk, lease_token=reply.lease_token, status=Status.STREAMING)
    anew = {"lease_token": None, "lease_expires_at": expiry(), "takeovers": (reply.takeovers or 0) + 1}
    return bool(rows.filter(lease_expires_at=reply.lease_expires_at).update(**anew))
