from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.utils import timezone

from conversations import limits
from conversations.api.events import catch_up, subscription, views
from conversations.compaction import compaction
from conversations.messages import protection
from conversations.models import Conversation, Message, User
from conversations.runtime import metrics
from conversations.runtime.events import hub
from conversations.runtime.subscription import MAX_QUEUED_EVENTS, RESYNC, Event
from conversations.turns import branches, conversations, running_replies, turn
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.usefixtures("server_loop")
WORDS = "".join(f"word{number} " for number in range(60))


@dataclass
class Stream:
    """What a program reads of the events of a conversation, as it comes."""

    response: Any
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    beats: int = 0
    retry: str = ""

    def __post_init__(self) -> None:
        self.chunks = aiter(self.response)

    @property
    def types(self) -> list[str]:
        return [type for type, _ in self.heard]

    @property
    def last(self) -> str:
        return self.ids[-1]

    def text(self, *, since: int = 0) -> str:
        """What was said of the reply, piece by piece: each goes on where the one before it ended."""
        said = ""
        for type, data in self.heard:
            if type == "message.delta":
                assert data["at"] == since + len(said)
                said += data["text"]
        return said

    def of(self, type: str) -> list[dict[str, Any]]:
        return [data for kind, data in self.heard if kind == type]

    async def until(self, *types: str) -> dict[str, Any]:
        """The next event of such a type, read up to it."""
        async with asyncio.timeout(10):
            while True:
                type, data = await self.next()
                if type in types:
                    return data

    async def next(self) -> tuple[str, dict[str, Any]]:
        """The next event; ("", {}) for what is none."""
        chunk = await anext(self.chunks)
        found: tuple[str, dict[str, Any]] = "", {}
        for block in chunk.decode().split("\n\n")[:-1]:
            lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            self.beats += block.startswith(":")
            self.retry = lines.get("retry", self.retry)
            if "id" in lines:
                self.ids.append(lines["id"])
            if "event" in lines:
                found = lines["event"], json.loads(lines["data"])
                self.heard.append(found)
        return found

    async def rest(self) -> list[str]:
        """All types up to the end of the stream."""
        async with asyncio.timeout(10):
            while True:
                try:
                    await self.next()
                except StopAsyncIteration:
                    return self.types


Hear = Callable[..., Any]


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def path(conversation: Conversation) -> str:
    return f"/api/conversations/{conversation.pk}/events"


async def get(api: Api, path: str, *, last: str = "") -> Any:
    headers = api.headers | ({"Last-Event-ID": last} if last else {})
    async with ThreadSensitiveContext():
        return await api.async_client.get(path, headers=headers)


@pytest.fixture
def hear(api: Api, path: str) -> Hear:
    @asynccontextmanager
    async def hear(*, last: str = "") -> AsyncIterator[Stream]:
        response = await get(api, path, last=last)
        assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream"), response.content
        stream = Stream(response)
        try:
            yield stream
        finally:
            await stream.chunks.aclose()
            response.close()

    return hear


@pytest.fixture(autouse=True)
async def nothing_is_left(server_loop: None) -> AsyncIterator[None]:
    yield
    await asyncio.sleep(0)
    assert (hub.listeners, limits._sockets, metrics.streams._value.get()) == ({}, {}, 0)


async def did[T](act: Callable[..., T], *args: Any, **how: Any) -> T:
    return await sync_to_async(partial(act, *args, **how))()


# --- As it happens ----------------------------------------------------------------------------------------------------


async def test_a_turn_is_told_as_it_happens_and_every_event_has_an_id(hear: Hear, chat: Chat) -> None:
    chat.llm.enqueue(WORDS, drip=0.005)
    async with hear() as stream:
        await stream.until("usage.updated")
        await chat.send("Which port?")
        done = await stream.until("message.done")
        await stream.until("usage.updated")
    assert (stream.retry, stream.beats) == ("2000", 1)
    assert [type for type in stream.types if type != "message.delta"] == [
        "usage.updated", "title.updated", "message.created", "message.created", "message.done", "usage.updated",
    ]  # fmt: skip
    assert stream.text() == done["message"]["content"] == WORDS
    assert len(stream.ids) == 1 + len(stream.heard)


async def test_a_stream_that_begins_within_a_reply_has_its_words_from_the_first(hear: Hear, chat: Chat) -> None:
    chat.llm.enqueue(WORDS, drip=0.005)
    begun = await chat.send("Which port?")
    while len(running_replies.text_so_far(begun.reply)) < 50:
        await asyncio.sleep(0.01)
    async with hear() as stream:
        await stream.until("message.done")
    assert "message.created" not in stream.types
    assert stream.text() == WORDS


async def test_silence_has_heartbeats(hear: Hear, monkeypatch: Any) -> None:
    monkeypatch.setattr(views, "HEARTBEAT", 0.02)
    async with hear() as stream:
        for _ in range(5):
            await stream.next()
    assert stream.beats >= 4


async def test_the_stream_of_a_message_has_the_same_ids(
    api: Api, path: str, hear: Hear, chat: Chat, conversation: Conversation
) -> None:
    chat.llm.enqueue(WORDS, drip=0.005)
    response = await api.say(path.replace("events", "messages"), "Which port?", stream=True)
    told = Stream(response)
    while "message.delta" not in told.types:
        await told.next()
    await told.chunks.aclose()
    response.close()
    async with hear(last=told.last) as stream:
        await stream.until("message.done")
    assert "message.created" not in stream.types
    assert told.text() + stream.text(since=len(told.text())) == WORDS


async def test_a_compaction_is_told_from_its_start_to_its_end(
    hear: Hear, chat: Chat, conversation: Conversation
) -> None:
    await did(fill, conversation, 40)
    async with hear() as stream:
        await chat.compact()
        ended = await stream.until("compression.completed")
    assert stream.types.index("compression.started") < stream.types.index("compression.progress")
    assert (ended["status"], ended["before"] > ended["after"]) == ("succeeded", True)


# --- After a Last-Event-ID --------------------------------------------------------------------------------------------


async def test_a_reply_that_is_cut_anywhere_goes_on_at_that_very_character(hear: Hear, chat: Chat) -> None:
    chat.llm.enqueue(WORDS, drip=0.005)
    whole, last, created = "", "", 0
    async with hear() as stream:
        await stream.next()
        await chat.send("Which port?")
        await stream.until("message.delta")
        whole, last, created = stream.text(), stream.last, stream.types.count("message.created")
    while True:
        async with hear(last=last) as stream:
            await stream.until("message.delta", "message.done")
            whole += stream.text(since=len(whole))
            last, created = stream.last, created + stream.types.count("message.created")
            if ended := stream.of("message.done"):
                # What was written while nobody listened comes with the end.
                content = ended[0]["message"]["content"]
                assert content.startswith(whole)
                break
    assert (content, created) == (WORDS, 2)
    async with hear(last=last) as stream:
        await stream.until("usage.updated")
        assert stream.types == ["usage.updated"]


async def test_what_was_missed_is_told_once_and_in_order(hear: Hear, chat: Chat, conversation: Conversation) -> None:
    await did(fill, conversation, 12)
    async with hear() as stream:
        await stream.until("usage.updated")
    await chat.say("Which port?")
    chat.llm.enqueue(status=401)
    await chat.say("And now?")
    await chat.compact()
    async with hear(last=stream.last) as again:
        await again.until("usage.updated")
    assert again.types == [
        "message.created", "message.created", "message.done", "message.created", "message.created", "message.failed",
        "compression.completed", "title.updated", "usage.updated",
    ]  # fmt: skip
    assert [one["message"]["content"] for one in again.of("message.created")][::2] == ["Which port?", "And now?"]
    ids = [one["message"]["id"] for one in again.of("message.created")]
    assert len(set(ids)) == 4
    for place, id in enumerate(again.ids):  # cut after any of them, the rest comes and nothing twice
        async with hear(last=id) as rest:
            await rest.until("usage.updated")
        assert rest.types == (again.types[place:] or ["usage.updated"])


async def test_a_compaction_that_runs_is_told_and_then_its_end(
    hear: Hear, chat: Chat, conversation: Conversation
) -> None:
    await did(fill, conversation, 40)
    chat.llm.summary_takes(seconds=0.5)
    async with hear() as stream:
        await stream.until("usage.updated")
    row = await chat.start_compaction(quality="standard")
    await asyncio.to_thread(chat.llm.wait_for, lambda server: server.summaries)
    async with hear(last=stream.last) as again:
        await again.until("compression.completed")
    assert [one["id"] for one in again.of("compression.started")] == [str(row.pk)]
    assert "compression.progress" in again.types
    assert "resync" not in again.types


Change = Callable[[Conversation], object]


def regenerated(conversation: Conversation) -> None:
    branches.regenerate(conversation, conversation.messages.filter(role="assistant").latest("created_at").pk)


def edited(conversation: Conversation) -> None:
    question = conversation.messages.filter(role="user").latest("created_at")
    branches.edit(conversation, question.pk, content="Which host?")


def protected(conversation: Conversation) -> None:
    protection.protect(conversation, conversation.messages.earliest("created_at").pk, on=True)


def undone(conversation: Conversation) -> None:
    compaction.rollback(conversation)


CHANGES = pytest.mark.parametrize("change", [regenerated, edited, protected, undone])


@CHANGES
async def test_history_that_was_changed_meanwhile_is_to_be_fetched(
    hear: Hear, chat: Chat, conversation: Conversation, change: Change
) -> None:
    await prepared(chat)
    async with hear() as stream:
        await stream.until("usage.updated")
    await did(change, conversation)
    await settled(conversation)
    async with hear(last=stream.last) as again:
        await again.until("resync")
    async with hear(last=again.last) as once:
        await once.until("usage.updated")
        assert "resync" not in once.types


@CHANGES
async def test_history_that_is_changed_now_is_to_be_fetched(
    hear: Hear, chat: Chat, conversation: Conversation, change: Change
) -> None:
    await prepared(chat)
    chat.llm.enqueue(WORDS, drip=0.002)
    async with hear() as stream:
        await stream.until("usage.updated")
        await did(change, conversation)
        await stream.until("resync")
        if change in (regenerated, edited):
            await stream.until("message.done")
            assert stream.text() == WORDS
            assert stream.types.count("message.created") == (1 if change is regenerated else 2)


async def test_a_reply_that_is_tried_again_is_to_be_fetched(hear: Hear, chat: Chat, conversation: Conversation) -> None:
    chat.llm.enqueue(status=401)
    failed = await chat.say("Which port?")
    async with hear() as stream:
        await stream.until("usage.updated")
    await did(turn.retry, conversation, failed.pk)
    await settled(conversation)
    async with hear(last=stream.last) as again:
        await again.until("resync")
    assert again.types[:2] == ["message.created", "message.done"]


async def test_too_much_to_tell_is_to_be_fetched(
    hear: Hear, chat: Chat, conversation: Conversation, monkeypatch: Any
) -> None:
    monkeypatch.setattr(catch_up, "MAX_MISSED", 3)
    await chat.say("first")
    async with hear() as stream:
        await stream.until("usage.updated")
    await chat.say("second")
    async with hear(last=stream.last) as again:
        await again.until("usage.updated")
        assert again.types.count("message.created") == 2
    await chat.say("third")
    async with hear(last=stream.last) as again:
        await again.until("resync")
        assert again.types == ["usage.updated", "resync"]
        await chat.send("fourth")
        await again.until("message.done")
        assert again.types.count("message.created") == 2


async def test_an_id_of_another_conversation_or_of_rows_that_are_gone_is_answered_with_resync(
    hear: Hear, api: Api, chat: Chat, conversation: Conversation, user: User
) -> None:
    other = await Conversation.objects.acreate(owner=user, model=conversation.model)
    elsewhere = Stream(await get(api, f"/api/conversations/{other.pk}/events"))
    await elsewhere.until("usage.updated")
    elsewhere.response.close()
    await chat.say("Which port?")
    async with hear() as stream:
        await stream.until("usage.updated")
    await conversation.messages.filter(role="assistant").adelete()
    for last in (elsewhere.last, stream.last):
        async with hear(last=last) as again:
            assert await again.until("resync") == {}


@pytest.mark.parametrize(
    "last", ["x", "1.2.3", "0" * 300, "5433\u00e9", "abcdef01.1.2.3.4.5", f"abcdef01.-{10**16}.-1.0..0.0"]
)
async def test_an_id_that_is_none_of_ours_is_400(api: Api, path: str, last: str) -> None:
    assert refused(await api.async_client.get(path, {"last_event_id": last}, headers=api.headers), 400, "invalid")
    if last.isascii() and len(last) < 200:
        assert refused(await get(api, path, last=last), 400, "invalid")["field"] == "Last-Event-ID"


async def test_the_first_connection_of_a_browser_says_it_in_the_address(
    api: Api, path: str, hear: Hear, chat: Chat
) -> None:
    async with hear() as stream:
        await stream.until("usage.updated")
    await chat.say("Which port?")
    response = await api.async_client.get(path, {"last_event_id": stream.last}, headers=api.headers)
    again = Stream(response)
    await again.until("usage.updated")
    response.close()
    assert again.types.count("message.created") == 2


# --- What the listener could not hold ---------------------------------------------------------------------------------


async def test_a_slow_reader_has_no_gap(hear: Hear, chat: Chat, conversation: Conversation, monkeypatch: Any) -> None:
    chat.llm.enqueue(WORDS, drip=0.002)
    async with hear() as stream:
        await stream.until("usage.updated")
        await chat.say("Which port?")
        for number in range(MAX_QUEUED_EVENTS + 1):  # titles are not joined
            hub.publish(conversation.pk, Event("title.updated", {"title": f"{number}"}))
        await stream.until("message.done")
        await stream.until("resync")
    assert stream.types.count("message.created") == 2
    assert stream.of("message.done")[0]["message"]["content"] == WORDS


async def test_words_that_were_never_heard_are_read(
    hear: Hear, chat: Chat, conversation: Conversation, monkeypatch: Any
) -> None:
    """As from another process, which had begun before this one listened."""
    monkeypatch.setattr(subscription, "BLIND_SECONDS", 0.0)
    async with hear() as stream:
        await stream.until("usage.updated")
        reply = await did(
            conversation.messages.create,
            role="assistant",
            status="streaming",
            content="Half",
            created_at=timezone.now(),
        )
        tell = partial(hub.publish, conversation.pk)
        told = {"id": str(reply.pk), "status": "streaming", "created_at": reply.created_at.isoformat()}
        tell(Event("message.created", {"message": told}))
        tell(Event("message.delta", {"id": str(reply.pk), "text": "way", "at": 4}))
        await stream.until("message.delta")
        await stream.until("message.delta")
        assert stream.text() == "Halfway"
        tell(Event("message.delta", {"id": str(reply.pk), "text": "never", "at": 20}))
        tell(Event("message.delta", {"id": str(reply.pk), "text": "way there", "at": 4}))
        await stream.until("message.delta")
        assert stream.text() == "Halfway there"


async def test_a_reply_that_another_worker_ended_is_told(hear: Hear, chat: Chat, conversation: Conversation) -> None:
    async with hear() as stream:
        await stream.until("usage.updated")
        reply = await did(conversation.messages.create, role="assistant", status="streaming", created_at=timezone.now())
        hub.publish(conversation.pk, RESYNC)
        await stream.until("resync")
        await Message.objects.filter(pk=reply.pk).aupdate(status="interrupted", content="as far as it came")
        hub.publish(conversation.pk, RESYNC)
        assert (await stream.until("message.done"))["message"]["content"] == "as far as it came"


# --- The end ----------------------------------------------------------------------------------------------------------


async def test_a_conversation_that_is_deleted_ends_its_stream(
    api: Api, path: str, hear: Hear, chat: Chat, conversation: Conversation
) -> None:
    async with hear() as stream:
        await stream.until("usage.updated")
        await did(conversations.delete, conversation)
        assert await stream.rest() == ["usage.updated", "conversation.deleted"]
    refused(await get(api, path, last=stream.last), 404, "not_found")


async def test_a_stream_ends_after_a_while_so_that_a_revoked_key_lets_nobody_listen(
    api: Api, path: str, hear: Hear, user: User, monkeypatch: Any
) -> None:
    monkeypatch.setattr(views, "MAX_STREAM_SECONDS", 0.1)
    async with hear() as stream:
        await user.api_keys.aupdate(revoked_at=timezone.now())
        assert await stream.rest() == ["usage.updated"]
    refused(await get(api, path, last=stream.last), 401, "unauthenticated")


async def test_only_the_owner_hears_and_only_so_often(
    api: Api, path: str, hear: Hear, django_user_model: Any, settings: Any
) -> None:
    bob = await did(Api, await did(django_user_model.objects.create_user, "bob"))
    refused(await get(bob, path), 404, "not_found")
    settings.MAX_SOCKETS_PER_USER = 2
    async with hear(), hear():
        assert metrics.streams._value.get() == 2
        assert limits._sockets
        response = await get(api, path)
        assert refused(response, 429, "rate_limited")["retry_after"] == int(response["Retry-After"])
    await asyncio.sleep(0)
    async with hear() as stream:
        await stream.until("usage.updated")


async def test_a_stream_that_is_never_read_leaves_nothing(api: Api, path: str) -> None:
    (await get(api, path)).close()


# --- Driving ----------------------------------------------------------------------------------------------------------


async def prepared(chat: Chat) -> None:
    """A long conversation that was compressed, with a turn after it."""
    await did(fill, chat.conversation, 40)
    await chat.compact()
    await chat.say("Which port?")


async def settled(conversation: Conversation) -> None:
    async with asyncio.timeout(10):
        while await conversation.messages.filter(status="streaming").aexists():
            await asyncio.sleep(0.01)
