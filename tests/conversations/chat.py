"""A conversation as a test drives it: say something, wait for what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction
from conversations.context import transcript
from conversations.models import Conversation, Message
from conversations.runtime import queue
from conversations.turns import running_replies, turn
from conversations.turns.begin import BegunTurn
from tests.llm_server import LlmServer, assert_every_message_represented

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass
class Chat:
    conversation: Conversation
    llm: LlmServer

    async def say(self, content: str, **how: Any) -> Message:
        """Send a message and wait until its reply has ended."""
        begun = await self.send(content, **how)
        return await self.ended(begun.reply.pk)

    async def send(self, content: str, **how: Any) -> BegunTurn:
        return await sync_to_async(turn.begin)(self.conversation, content=content, **how)

    async def ended(self, reply_id: UUID) -> Message:
        async with asyncio.timeout(20):
            while (reply := await Message.objects.aget(pk=reply_id)).is_streaming:
                await asyncio.sleep(0.01)
        return reply

    async def compact(self, trigger: str = "manual", **steering: Any) -> Compaction:
        row = await self.start_compaction(trigger, **steering)
        return await self.compacted(row.pk)

    async def start_compaction(self, trigger: str = "manual", **steering: Any) -> Compaction:
        return await sync_to_async(compaction.request)(
            self.conversation, trigger=trigger, steering=Steering(**steering)
        )

    async def compacted(self, compaction_id: UUID) -> Compaction:
        async with asyncio.timeout(20):
            while (row := await Compaction.objects.aget(pk=compaction_id)).is_active:
                await asyncio.sleep(0.01)
        await self.refresh()
        return row

    async def written(self, reply: Message, words: str) -> None:
        """Wait until a reply in the making has these words."""
        async with asyncio.timeout(20):
            while words not in running_replies.text_so_far(reply):
                await asyncio.sleep(0.01)

    async def idle(self) -> None:
        """Wait until all that was enqueued has ended, and all that it enqueued: what has not happened then will not."""
        server = queue._server
        assert server is not None
        async with asyncio.timeout(20):
            await asyncio.sleep(0)  # what other threads have enqueued is among the tasks then
            while server.running or running_replies.in_progress:
                await asyncio.sleep(0.01)

    async def refresh(self) -> None:
        await self.conversation.arefresh_from_db()

    async def check(self) -> None:
        """Every message of the history was represented in the last request to the model, and none of it twice."""
        await self.refresh()
        await sync_to_async(self._check)()

    def _check(self) -> None:
        reply = Message.objects.filter(conversation=self.conversation).order_by("-created_at").first()
        history = transcript.between(self.conversation.pk, None, reply.created_at - timedelta(microseconds=1))
        cut, verbatim = self.conversation.compressed_at, self.conversation.verbatim_ids
        rows = [
            (turn.content, bool(cut and turn.created_at <= cut and turn.id not in verbatim), turn.protected)
            for turn in history
        ]
        assert_every_message_represented(rows, request=self.llm.chats[-1])


def fill(conversation: Conversation, count: int, *, words: int = 40, protected: tuple[int, ...] = ()) -> None:
    """`count` messages of a person and an assistant in turn, each with a number and facts of its own."""
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            role="user" if number % 2 == 0 else "assistant",
            content=(text := f"Message {number} says port {5000 + number}. " + f"word{number} " * words),
            created_at=START + timedelta(minutes=number),
            token_count=transcript.message_tokens(text),
            is_protected=number in protected,
        )
        for number in range(count)
    )
