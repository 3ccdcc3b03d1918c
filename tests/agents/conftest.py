from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache

from conversations.models import AgentRun, Conversation, Message, ModelProfile, ToolCall
from conversations.turns import stop as turns_stop
from conversations.turns.begin import BegunTurn
from tests.conversations.chat import Chat
from tests.llm_server import LlmServer


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """What one test has asked counts for no other: their people have the same numbers."""
    yield
    cache.clear()


@dataclass
class ToolChat(Chat):
    """A conversation whose model can call tools."""

    async def asks(self, content: str, **how: Any) -> list[Message]:
        """Say something, and wait until the last reply of the turn has ended; all its replies."""
        begun = await self.send(content, **how)
        return await self.turn_ended(begun)

    async def turn_ended(self, begun: BegunTurn) -> list[Message]:
        rows = Message.objects.filter(conversation=self.conversation, role="assistant")
        rows = rows.filter(created_at__gt=begun.question.created_at).order_by("created_at")
        async with asyncio.timeout(20):
            while await rows.filter(status="streaming").aexists():
                await asyncio.sleep(0.01)
        return [row async for row in rows]

    async def calls(self, **which: Any) -> list[ToolCall]:
        return [call async for call in ToolCall.objects.filter(**which).order_by("id")]

    async def run(self) -> AgentRun:
        """The only run there is."""
        return await AgentRun.objects.select_related("thread").aget()

    async def steps(self) -> list[tuple[str, str]]:
        """Of all runs: what each step is, and what it says."""
        rows = Message.objects.filter(step__isnull=False).order_by("step__run", "step__number")
        return [row async for row in rows.values_list("step__kind", "content")]

    async def stop(self) -> bool:
        return await sync_to_async(turns_stop.stop)(self.conversation)


@pytest.fixture
def profile(profile: ModelProfile) -> ModelProfile:
    profile.calls_tools, profile.window = True, 16_000
    profile.save()
    return profile


@pytest.fixture
async def chat(conversation: Conversation, llm: LlmServer, server_loop: None) -> ToolChat:
    return ToolChat(conversation, llm)


@pytest.fixture
async def agent(conversation: Conversation, llm: LlmServer, server_loop: None) -> ToolChat:
    conversation.kind = Conversation.Kind.AGENT
    await conversation.asave()
    return ToolChat(conversation, llm)
