"""The row of a reply as its lock: claimed by one worker, renewed while it writes, given up when it falls silent."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from compression.leases import expiry
from conversations.models import Conversation, Message
from conversations.runtime import database
from conversations.runtime.lease import Lease
from conversations.runtime.retry import retry_on_database_error


class Held(Enum):
    OURS = "ours"
    STOPPING = "stopping"
    LOST = "lost"


def claim(reply_id: UUID, token: UUID) -> Held:
    """Make the reply ours to write; LOST where another worker has it, or where it has ended."""
    rows = Message.objects.filter(pk=reply_id, lease_token=None, status=Message.Status.STREAMING)
    taken = rows.update(lease_token=token, lease_expires_at=expiry())
    return Held.OURS if taken else Held.LOST


def check(reply_id: UUID, token: UUID) -> Held:
    """Whether it is ours still, and whether it is to be written at all."""
    stopping = held(reply_id, token).values_list("stopping_at", flat=True)
    return Held.LOST if not stopping else Held.STOPPING if stopping[0] else Held.OURS


def held(reply_id: UUID, token: UUID) -> QuerySet[Message]:
    """The row, as long as it is ours to write."""
    return Message.objects.filter(pk=reply_id, lease_token=token, status=Message.Status.STREAMING)


def in_order(reply_id: UUID) -> None:
    """Before a transaction that writes a reply and more than that: its conversation's row is taken first.

    Deletion locks in the same order, which prevents a deadlock.
    """
    database.lock_rows(Conversation.objects.filter(messages=reply_id), of=("self",))


def hand_back(reply_id: UUID, token: UUID) -> bool:
    """Nothing was written yet: whoever looks for work next may have it. False where it was not ours."""
    return bool(held(reply_id, token).update(lease_token=None, lease_expires_at=timezone.now()))


async def heartbeat(reply_id: UUID, token: UUID, *, text: Callable[[], str], end: Callable[[Held], None]) -> None:
    """Renew until the reply is to end, by a person's will or because another worker has taken over.

    What was written so far is kept with it: a machine that loses its power loses no more than one beat.
    """
    lease, found = Lease(lambda: held(reply_id, token).filter(stopping_at=None), f"reply {reply_id}"), Held.OURS
    while found is Held.OURS:
        await lease.watch(lambda: {"content": text()})
        found = await retry_on_database_error(partial(check, reply_id, token))
    end(found)
