from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from compression.models import Compaction
from conversations.api.events import sse
from conversations.models import Conversation, Message, User
from conversations.runtime.events import hub
from conversations.turns import running_replies as turns_running
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import fill
from tests.llm_server import LlmServer

HERE = pytest.mark.usefixtures("server_loop")


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def path(conversation: Conversation) -> str:
    return f"/api/conversations/{conversation.pk}/messages"


async def events_of(response: Any) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """(type, data) of each event of a stream; comments are ("", {})."""
    async for chunk in response.streaming_content:
        for block in chunk.decode().strip().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            yield fields.get("event", ""), json.loads(fields.get("data", "{}"))


@HERE
async def test_a_message_is_answered_with_its_reply_and_the_usage(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("It is 5433.")
    response = await api.say(path, "Which port?")

    assert response.status_code == 201
    told = response.json()
    assert (told["user_message"]["role"], told["user_message"]["content"]) == ("user", "Which port?")
    assert (told["assistant_message"]["status"], told["assistant_message"]["content"]) == ("complete", "It is 5433.")
    assert told["usage"]["total"] > told["usage"]["live"] > 0
    assert told["compaction"] is None
    assert hub.listeners == {}


async def test_it_is_answered_as_well_where_no_server_loop_runs(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("word " * 600)
    told = (await api.say(path, "Which port?")).json()
    assert told["assistant_message"]["content"] == "word " * 600


@HERE
async def test_a_turn_that_had_to_compress_says_so(
    api: Api, path: str, conversation: Conversation, llm: LlmServer
) -> None:
    await sync_to_async(fill)(conversation, 40)
    told = (await api.say(path, "Which port?")).json()
    assert told["assistant_message"]["status"] == "complete"
    assert (told["compaction"]["trigger"], told["compaction"]["status"]) == ("auto", "succeeded")
    assert (await api.say(path, "And now?")).json()["compaction"] is None


@HERE
async def test_a_failed_provider_leaves_a_stored_message_and_a_failed_reply(
    api: Api, path: str, llm: LlmServer
) -> None:
    llm.enqueue(status=401, times=5)
    response = await api.say(path, "Which port?")
    assert response.status_code == 201
    assert response.json()["assistant_message"]["status"] == "failed"
    assert response.json()["assistant_message"]["error"]


@HERE
async def test_the_same_client_id_is_the_same_message(api: Api, path: str, llm: LlmServer) -> None:
    first = await api.say(path, "Which port?", client_id="a")
    again = await api.say(path, "Which port?", client_id="a")
    assert (first.status_code, again.status_code) == (201, 200)
    for part in ("user_message", "assistant_message"):
        assert again.json()[part] == first.json()[part]
    assert len(llm.chats) == 1
    refused(await api.say(path, "Another", client_id="a"), 409, "client_id_reused")


@HERE
async def test_a_replay_of_a_reply_that_is_being_written_waits_for_it(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("word " * 20, drip=0.01)
    first, again = await asyncio.gather(*(api.say(path, "Which port?", client_id="a") for _ in range(2)))
    assert {first.status_code, again.status_code} == {201, 200}
    assert first.json()["assistant_message"] == again.json()["assistant_message"]


@HERE
async def test_a_second_message_while_a_reply_is_written_is_409(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("word " * 50, drip=0.01)
    first = asyncio.ensure_future(api.say(path, "Which port?"))
    await asyncio.to_thread(llm.wait_for, lambda server: server.chats)
    refused(await api.say(path, "Hello?"), 409, "reply_running")
    assert (await first).status_code == 201


@HERE
@pytest.mark.parametrize("content", ["", " \n", "a\0", "x" * 200_001])
async def test_text_that_cannot_be_a_message_is_400(api: Api, path: str, content: str) -> None:
    assert refused(await api.say(path, content), 400, "invalid")["field"] == "content"
    assert not await Message.objects.aexists()
    assert hub.listeners == {}


@HERE
async def test_a_message_that_fits_no_request_is_413_and_not_stored(api: Api, path: str) -> None:
    assert refused(await api.say(path, "word " * 20_000), 413, "context_too_large")["budget"]
    assert not await Message.objects.aexists()


@HERE
async def test_a_stream_tells_the_turn_and_ends_with_the_whole_reply(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("It is 5433.", drip=0.05)
    response = await api.say(path, "Which port?", stream=True)
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream")

    events = [event async for event in events_of(response)]
    types = [type for type, _ in events]
    assert types.count("message.created") == 2
    assert types[-1] == "message.done"
    assert events[-1][1]["message"]["content"] == "It is 5433."
    assert "".join(data["text"] for type, data in events if type == "message.delta") == "It is 5433."
    response.close()
    assert hub.listeners == {}


@HERE
async def test_a_stream_is_refused_like_any_request(api: Api, path: str) -> None:
    refused(await api.say(path, "", stream=True), 400, "invalid")


@HERE
async def test_the_stream_of_a_replay_ends_at_once(api: Api, path: str, llm: LlmServer) -> None:
    first = (await api.say(path, "Which port?", client_id="a")).json()
    response = await api.say(path, "Which port?", client_id="a", stream=True)
    assert [event async for event in events_of(response)] == [("message.done", {"message": first["assistant_message"]})]


@HERE
async def test_a_silent_stream_has_heartbeats(api: Api, path: str, llm: LlmServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT", 0.05)
    llm.enqueue("Done.", delay=0.3)
    types = [type async for type, _ in events_of(await api.say(path, "Which port?", stream=True))]
    assert types.count("") >= 2
    assert types[-1] == "message.done"


@HERE
async def test_a_stream_ends_although_the_last_event_was_missed(
    api: Api, path: str, conversation: Conversation, llm: LlmServer, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT", 0.05)
    llm.enqueue("never told", delay=60)
    response = await api.say(path, "Which port?", stream=True)
    await asyncio.to_thread(llm.wait_for, lambda server: server.chats)
    await conversation.messages.filter(role="assistant").aupdate(status="complete", content="by another process")
    async with asyncio.timeout(5):
        events = [event async for event in events_of(response)]
    assert events[-1][1]["message"]["content"] == "by another process"


@HERE
async def test_the_reply_goes_on_when_the_reader_of_a_stream_leaves(
    api: Api, path: str, conversation: Conversation, llm: LlmServer
) -> None:
    llm.enqueue("word " * 30, drip=0.01)
    response = await api.say(path, "Which port?", stream=True)
    async for type, _ in events_of(response):
        if type == "message.delta":
            break
    response.close()
    assert hub.listeners == {}
    async with asyncio.timeout(10):
        while (await conversation.messages.aget(role="assistant")).is_streaming:
            await asyncio.sleep(0.02)
    assert (await conversation.messages.aget(role="assistant")).content == "word " * 30


@HERE
async def test_a_stream_that_is_never_read_leaves_no_listener(api: Api, path: str) -> None:
    response = await api.say(path, "Which port?", stream=True)
    response.close()
    assert hub.listeners == {}


@HERE
async def test_stop_ends_the_reply_and_keeps_its_text(
    api: Api, path: str, conversation: Conversation, llm: LlmServer
) -> None:
    llm.enqueue("word " * 500, drip=0.02)
    waiting = asyncio.ensure_future(api.say(path, "Which port?"))
    async with asyncio.timeout(10):
        while not any(running.text for running in turns_running.in_progress.values()):
            await asyncio.sleep(0.05)
        response = await api.post_async(f"/api/conversations/{conversation.pk}/stop")
        assert response.json() == {"stopped": True}
        told = (await waiting).json()
    assert told["assistant_message"]["status"] == "stopped"
    assert told["assistant_message"]["content"].startswith("word")


@HERE
async def test_a_conversation_that_is_deleted_while_it_is_answered_is_gone_for_who_waits(
    api: Api, path: str, conversation: Conversation, llm: LlmServer, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT", 0.1)
    llm.enqueue("word " * 500, drip=0.02)
    waiting = asyncio.ensure_future(api.say(path, "Which port?"))
    await asyncio.to_thread(llm.wait_for, lambda server: server.chats)
    deleted = await api.async_client.delete(f"/api/conversations/{conversation.pk}", headers=api.headers)
    assert deleted.status_code == 204
    async with asyncio.timeout(30):
        refused(await waiting, 404, "not_found")


def test_stop_says_where_nothing_is_written(api: Api, conversation: Conversation) -> None:
    assert api.post(f"/api/conversations/{conversation.pk}/stop").json() == {"stopped": False}


def pages(api: Api, path: str, limit: int) -> list[list[str]]:
    """Page by page, each message's number and "summary" for the summary."""
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get(path, limit=limit, **cursor).json()
        found.append(
            ["summary" if item["type"] == "compress" else item["content"].split()[1] for item in page["items"]]
        )
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7, 200])
@pytest.mark.parametrize("cut", [0, 2, 5, None])
def test_pages_hold_each_message_once_and_the_summary_at_the_cut(
    api: Api, path: str, conversation: Conversation, cut: int | None, limit: int
) -> None:
    fill(conversation, 6, words=1)
    expected = [str(number) for number in range(6)]
    if cut is not None:
        at = conversation.messages.all()[cut].created_at
        Conversation.objects.update(compressed_context="in short", compressed_at=at)
        expected.insert(cut + 1, "summary")
    found = pages(api, path, limit)
    assert [entry for page in found for entry in page] == expected
    assert all(len(page) == limit for page in found[:-1])


def test_the_summary_is_shown_as_it_is_sent(api: Api, path: str, conversation: Conversation) -> None:
    fill(conversation, 2, words=1)
    Conversation.objects.update(
        compressed_context="in short", compressed_at=conversation.messages.latest("created_at").created_at
    )
    assert api.get(path).json()["items"][-1] == {"type": "compress", "content": "in short"}


def test_replaced_messages_are_not_listed_and_tool_calls_are(api: Api, path: str, conversation: Conversation) -> None:
    now = timezone.now()
    new = conversation.messages.create(role="assistant", content="new", created_at=now)
    conversation.messages.create(
        role="assistant", content="old", created_at=now - timedelta(seconds=1), replaced_by=new
    )
    new.tool_calls.create(call_id="a", name="look", arguments="{}", result="5433", created_at=now)
    (item,) = api.get(path).json()["items"]
    assert (item["type"], item["content"]) == ("message", "new")
    called = {"id": "a", "name": "look", "arguments": "{}", "result": "5433", "error": None, "status": "done"}
    assert item["tool_calls"] == [called | {"tokens": 0, "duration_ms": None}]


def test_a_page_of_messages_takes_the_same_queries_whatever_its_length(
    api: Api, path: str, conversation: Conversation, django_assert_num_queries: Any
) -> None:
    fill(conversation, 150, words=1)
    api.get(path)
    with django_assert_num_queries(6):
        assert len(api.get(path, limit=150).json()["items"]) == 150


def test_a_compaction_of_long_ago_is_not_this_turns(api: Api, path: str, conversation: Conversation) -> None:
    Compaction.objects.create(
        conversation=conversation, trigger="auto", status="succeeded", finished_at=timezone.now() - timedelta(hours=1)
    )
    assert api.post(path, {"content": "Which port?"}).json()["compaction"] is None
