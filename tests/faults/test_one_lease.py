"""Compactions, replies and the gateway hold their rows by one lease, which outlives a database that refuses a beat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.utils import timezone

from compression.core.values import Steering
from compression.ids import uuid7
from compression.models import Compaction
from conversations.compaction import lease
from conversations.gateway import compaction
from conversations.messages import reply_lease
from conversations.models import Conversation, Folding, Message
from tests.statements import through


@asynccontextmanager
async def a_compaction(conversation: Conversation) -> AsyncIterator[None]:
    claimed = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering())
    row = await sync_to_async(lease.start)(claimed.pk, uuid7())
    assert row is not None
    async with lease.renewed(row):
        yield


@asynccontextmanager
async def a_reply(conversation: Conversation) -> AsyncIterator[None]:
    token = uuid7()
    row = await Message.objects.acreate(
        conversation=conversation, role="assistant", status="streaming", created_at=timezone.now()
    )
    assert await sync_to_async(reply_lease.claim)(row.pk, token) is reply_lease.LeaseState.OURS
    beat = asyncio.create_task(reply_lease.heartbeat(row.pk, token, text=str, end=lambda held: None))
    try:
        yield
    finally:
        beat.cancel()


def a_history(conversation: Conversation) -> AbstractAsyncContextManager[None]:
    return compaction.alone(conversation.owner_id, "digest")


HOLDS = [
    (a_compaction, Compaction, "lease_expires_at"),
    (a_reply, Message, "lease_expires_at"),
    (a_history, Folding, "expires_at"),
]


@pytest.mark.parametrize(("hold", "model", "column"), HOLDS)
async def test_a_lease_is_renewed_after_a_beat_that_the_database_refused(
    conversation: Conversation, hold: Any, model: Any, column: str, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LEASE_SECONDS = 0.4
    refused: list[str] = []

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not refused and sql.startswith(f'UPDATE "{model._meta.db_table}"'):
            refused.append(sql)
            raise OperationalError("the connection is lost")
        return execute(sql, params, many, context)

    async with asyncio.timeout(10), hold(conversation):
        begun = await model.objects.values_list(column, flat=True).aget()
        async with through(refuse):
            while not (refused and not await model.objects.filter(**{column: begun}).aexists()):
                await asyncio.sleep(0.01)
    assert "could not be renewed" in caplog.text
