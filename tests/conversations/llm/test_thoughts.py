"""Thoughts of a chat's model: kept beside the reply, told as they come, in nothing that is sent later."""

from __future__ import annotations

import json
from functools import partial
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.utils import timezone

from conversations.context import transcript
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.instructions import conversation_settings as own_settings
from conversations.models import Conversation, ModelProfile, User
from conversations.page import fragments
from conversations.runtime.events import Hub, hub
from conversations.runtime.subscription import Event
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages

pytestmark = pytest.mark.once

THOUGHT = "Ports <q>are</q> numbers, hm."


async def test_thoughts_are_kept_apart_and_counted_apart(chat: Chat) -> None:
    chat.llm.enqueue("5433.", thoughts=THOUGHT)
    reply = await chat.say("which port?")
    assert (reply.content, reply.thoughts) == ("5433.", THOUGHT)
    assert reply.token_count == transcript.message_tokens("5433.")
    assert reply.thought_tokens > 5
    assert reply.thought_ms is not None
    assert reply.returned_thoughts is None, "no tool was called, so nothing goes back"
    await chat.say("why?")
    assert "numbers" not in json.dumps(chat.llm.last_request.body)
    assert "numbers" not in await sync_to_async(as_markdown)(chat.conversation)


async def test_thoughts_are_told_before_the_words_and_joined_to_nothing_else(chat: Chat) -> None:
    chat.llm.enqueue("It is 5433.", thoughts="one two three", drip=0.01)
    with hub.listen(chat.conversation.pk) as listener:
        await chat.send("which port?")
        seen: list[Event] = []
        async for event in listener:
            seen.append(event)
            if event.type == "message.done":
                break
    kinds = [event.type for event in seen if event.type in ("message.thought", "message.delta")]
    assert kinds == sorted(kinds, reverse=True)
    for kind, whole in (("message.thought", "one two three"), ("message.delta", "It is 5433.")):
        pieces = [event.data for event in seen if event.type == kind]
        assert "".join(piece["text"] for piece in pieces) == whole
        assert [piece["at"] for piece in pieces] == [
            len("".join(piece["text"] for piece in pieces[:number])) for number in range(len(pieces))
        ]
    assert seen[-1].data["message"]["thoughts"]["text"] == "one two three"


def test_a_page_reads_thoughts_when_they_are_opened(user: User, conversation: Conversation) -> None:
    row = conversation.messages.create(
        role="assistant",
        content="5433.",
        created_at=timezone.now(),
        thoughts=THOUGHT,
        thought_ms=12_300,
        thought_tokens=1_200,
    )
    pages = Pages(user)
    page = pages.get("chat", conversation.pk).content.decode()
    assert "Thought for 12 s" in page
    assert "numbers" not in page
    opened = pages.get("thoughts", conversation.pk, row.pk).content.decode()
    assert "Ports &lt;q&gt;are&lt;/q&gt; numbers" in opened
    assert "1,200 tokens" in opened


def test_a_piece_of_thoughts_is_escaped() -> None:
    html = fragments.thought(Event("message.thought", {"id": "m", "text": THOUGHT, "at": 3}))
    assert html == (
        '<span data-at="3" hx-swap-oob="beforeend:#thoughts-m">Ports &lt;q&gt;are&lt;/q&gt; numbers, hm.</span>'
    )


class TestEffort:
    @pytest.mark.parametrize(("own", "of_model", "said"), [("", "low", "low"), ("high", "low", "high"), ("", "", None)])
    async def test_the_conversation_overrides_its_model(
        self, chat: Chat, own: str, of_model: str, said: str | None
    ) -> None:
        await ModelProfile.objects.aupdate(effort=of_model)
        await chat.refresh()
        await sync_to_async(partial(own_settings.change, chat.conversation, effort=own))()
        await chat.say("which port?")
        assert chat.llm.chats[-1].body.get("reasoning_effort") == said

    @pytest.mark.parametrize(
        ("own", "effort", "seconds"), [(None, "", 60), (None, "none", 60), (None, "low", 600), (45, "high", 45)]
    )
    def test_a_model_that_thinks_is_waited_for(self, own: int | None, effort: str, seconds: float) -> None:
        assert ModelProfile(silence_seconds=own).silence(effort, default=60) == seconds

    async def test_a_model_may_be_silent_longer_than_the_site_says(self, chat: Chat, settings: LazySettings) -> None:
        settings.MODEL_TIMEOUT_SECONDS = 0.2
        await ModelProfile.objects.aupdate(silence_seconds=10)
        chat.llm.enqueue("5433.", delay=0.6)
        assert (await chat.say("which port?")).content == "5433."


def test_thoughts_come_back_with_our_own_export(user: User, conversation: Conversation) -> None:
    told = {"thoughts": THOUGHT, "thought_ms": 12_300, "thought_tokens": 7}
    conversation.messages.create(role="assistant", content="5433.", created_at=timezone.now(), **told)
    Conversation.objects.filter(pk=conversation.pk).update(effort="high")
    conversation.refresh_from_db()
    (copy,) = import_conversations(user, json.dumps(as_json(conversation)).encode())
    assert copy.effort == "high"
    assert copy.messages.values(*told).get() == told


async def test_a_page_of_another_process_has_the_thoughts_so_far() -> None:
    hub, id = Hub(), uuid4()
    for at, text in ((0, "of an attempt that failed"), (0, "one "), (4, "two")):
        hub.hear(id, Event("message.thought", {"id": "m", "text": text, "at": at}))
    assert (hub.draft("m", "message.thought"), hub.draft("m")) == ("one two", "")
    hub.hear(id, Event("message.thought", {"id": "m", "text": "after a gap", "at": 90}))
    assert hub.draft("m", "message.thought") == ""
