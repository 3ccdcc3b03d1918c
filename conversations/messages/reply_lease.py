"""Uses a reply's row as its lock: claimed by one worker, renewed while it writes, expired when the worker is gone."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from compression.leases import expiry
from conversations.models import Conversation, Message
from conversations.runtime import database
from conversations.runtime.lease import Lease
from conversations.runtime.retry import retry_on_database_error


class LeaseState(Enum):
    OURS = "ours"
    STOPPING = "stopping"
    LOST = "lost"


def claim(reply_id: UUID, token: UUID) -> LeaseState:
    """Claim the reply with `token`; LOST if another worker holds it, a person stops it or it has ended."""
    rows = Message.objects.streaming().filter(pk=reply_id, lease_token=None, stopping_at=None)
    taken = rows.update(lease_token=token, lease_expires_at=expiry())
    return LeaseState.OURS if taken else LeaseState.LOST


def check(reply_id: UUID, token: UUID) -> LeaseState:
    """Check whether `token` still holds the reply; STOPPING if a person asked to stop it."""
    stopping = held(reply_id, token).values_list("stopping_at", flat=True)
    return LeaseState.LOST if not stopping else LeaseState.STOPPING if stopping[0] else LeaseState.OURS


def held(reply_id: UUID, token: UUID) -> QuerySet[Message]:
    """The reply's row, if it is running and `token` holds it."""
    return Message.objects.filter(pk=reply_id, lease_token=token, status=Message.Status.STREAMING)


def ask_to_stop(conversation_id: UUID) -> None:
    """Have the worker that holds the conversation's reply stop it, at its next beat or before it begins."""
    Message.objects.streaming().filter(conversation_id=conversation_id).update(stopping_at=timezone.now())


def in_order(reply_id: UUID) -> None:
    """Lock the reply's conversation first, at the beginning of a transaction that writes the reply and other rows.

    Deletion locks in the same order, which prevents a deadlock.
    """
    database.lock_rows(Conversation.objects.filter(messages=reply_id), of=("self",))


def hand_back(reply_id: UUID, token: UUID) -> bool:
    """Release an empty reply, so that any worker may claim it; False if `token` does not hold it."""
    return bool(held(reply_id, token).update(lease_token=None, lease_expires_at=timezone.now()))


async def heartbeat(
    reply_id: UUID,
    token: UUID,
    *,
    text: Callable[[], str],
    thoughts: Callable[[], dict[str, Any]] = dict,
    end: Callable[[LeaseState], None],
) -> None:
    """Renew the lease until a person stops the reply or another worker takes it over; then call `end`.

    Each beat also stores the `text` so far and the columns of `thoughts`, so that a power failure loses no more than
    one beat of them.
    """
    lease, found = Lease(lambda: held(reply_id, token).filter(stopping_at=None), f"reply {reply_id}"), LeaseState.OURS
    while found is LeaseState.OURS:
        await lease.watch(lambda: {"content": text(), **thoughts()})
        found = await retry_on_database_error(partial(check, reply_id, token))
    end(found)
