"""Rows of requests as they would have been made at a moment: their ids are of that time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from compression.ids import first_id
from compression.models import Compaction
from conversations.models import Conversation, GatewayCall, Message

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
USED = {"prompt_tokens": 1_000, "cached_tokens": 0, "completion_tokens": 100}


def id_at(at: datetime) -> UUID:
    return UUID(int=first_id(at).int | random.getrandbits(62))


def reply(conversation: Conversation, at: datetime = NOON, **fields: Any) -> Message:
    known = {"role": "assistant", "model": "scripted", "created_at": at + timedelta(microseconds=random.randrange(999))}
    Conversation.objects.filter(pk=conversation.pk, updated_at__lt=at).update(updated_at=at)
    return Message.objects.create(id=id_at(at), conversation=conversation, **known | USED | fields)


def failed(conversation: Conversation, error: str, at: datetime = NOON, *, code: str = "") -> Message:
    nothing = dict.fromkeys(USED)
    return reply(conversation, at, status="failed", error=error, error_code=code, **nothing)


def call(owner: Any, at: datetime = NOON, **fields: Any) -> GatewayCall:
    known = {"model": "scripted", "created_at": at, "tokens_before": 5_000, "tokens_after": 1_000}
    return GatewayCall.objects.create(id=id_at(at), owner=owner, **known | USED | fields)


def run(conversation: Conversation, at: datetime = NOON, **fields: Any) -> Compaction:
    known = {"trigger": "auto", "status": "succeeded", "summariser": "fast", "created_at": at, "finished_at": at}
    return Compaction.objects.create(id=id_at(at), conversation=conversation, **known | fields)
