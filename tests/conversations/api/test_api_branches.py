from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model

from compression.models import Compaction
from conversations.models import Conversation, Message, User
from conversations.turns import stop, turn
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill
from tests.llm_server import LlmServer

pytestmark = pytest.mark.usefixtures("server_loop")
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def other(user: User) -> Api:
    return Api(get_user_model().objects.create_user("bob"))


@pytest.fixture
def path(conversation: Conversation) -> str:
    fill(conversation, 20)
    return f"/api/conversations/{conversation.pk}/messages"


async def message(number: int) -> Message:
    return await Message.objects.order_by("created_at", "pk").filter(content__startswith=f"Message {number} ").afirst()


async def test_regenerating_is_answered_with_the_question_and_the_new_reply(
    api: Api, path: str, llm: LlmServer
) -> None:
    llm.enqueue("It is 5433.")
    asked, old = await message(6), await message(7)
    response = await api.post_async(f"{path}/{old.pk}/regenerate")
    assert response.status_code == 201
    told = response.json()
    assert set(told) == {"user_message", "steps", "assistant_message", "usage", "compaction"}
    assert told["user_message"]["id"] == str(asked.pk)
    assert (told["assistant_message"]["status"], told["assistant_message"]["content"]) == ("complete", "It is 5433.")
    assert told["usage"]["total"] > 0
    listed = (await sync_to_async(api.get)(path)).json()["items"]
    assert [row["id"] for row in listed[-2:]] == [str(asked.pk), told["assistant_message"]["id"]]


async def test_editing_is_answered_with_the_new_question_and_its_reply(api: Api, path: str, llm: LlmServer) -> None:
    llm.enqueue("It is 5433.")
    old = await message(6)
    response = await api.post_async(f"{path}/{old.pk}/edit", {"content": "Which port?"})
    assert response.status_code == 201
    told = response.json()
    assert told["user_message"]["content"] == "Which port?"
    assert told["assistant_message"]["content"] == "It is 5433."
    assert (await Message.objects.aget(pk=old.pk)).replaced_by_id is not None
    assert llm.last_request.messages[-1]["content"] == "Which port?"


async def test_an_edit_before_the_cut_takes_the_compression_back(
    api: Api, path: str, conversation: Conversation, llm: LlmServer
) -> None:
    await Chat(conversation, llm).compact()
    old = await message(4)
    assert (await api.post_async(f"{path}/{old.pk}/edit", {"content": "Which port?"})).status_code == 201
    read = (await sync_to_async(api.get)(f"/api/conversations/{conversation.pk}/context")).json()
    assert (read["compressed_at"], read["checkpoints"]) == (None, [])
    assert (await Compaction.objects.aget()).status == "undone"
    recovery = await conversation.snapshots.aget(purpose="recovery")
    rollback = f"/api/context/{conversation.pk}/rollback"
    refused(await api.post_async(rollback, {"snapshot_id": str(recovery.pk)}), 409, "history_changed")


async def test_a_fork_is_a_conversation_of_its_own(api: Api, path: str, conversation: Conversation) -> None:
    last = await message(9)
    response = await api.post_async(f"{path}/{last.pk}/fork")
    assert response.status_code == 201
    copy = response.json()
    assert copy["id"] != str(conversation.pk)
    listed = (await sync_to_async(api.get)(f"/api/conversations/{copy['id']}/messages")).json()["items"]
    assert len(listed) == 10
    assert listed[-1]["content"] == last.content
    assert (await api.say(f"/api/conversations/{copy['id']}/messages", "And here?")).status_code == 201
    assert await conversation.messages.acount() == 20


@pytest.mark.parametrize(("act", "body"), [("regenerate", None), ("edit", {"content": "x"}), ("fork", None)])
async def test_foreign_and_unknown_ids_are_not_found(api: Api, other: Api, path: str, act: str, body: object) -> None:
    id = (await message(7 if act == "regenerate" else 6)).pk
    refused(await other.post_async(f"{path}/{id}/{act}", body), 404, "not_found")
    refused(await api.post_async(f"{path}/{NOBODY}/{act}", body), 404, "not_found")
    refused(await api.post_async(f"/api/conversations/{NOBODY}/messages/{id}/{act}", body), 404, "not_found")
    assert not await Message.objects.exclude(replaced_by=None).aexists()
    assert await Conversation.objects.acount() == 1


async def test_a_running_reply_is_in_the_way(api: Api, path: str, conversation: Conversation, llm: LlmServer) -> None:
    llm.enqueue("word " * 40, drip=0.05)
    begun = await sync_to_async(turn.begin)(conversation, content="tell me")
    refused(await api.post_async(f"{path}/{begun.reply.pk}/regenerate"), 409, "reply_running")
    refused(await api.post_async(f"{path}/{begun.question.pk}/edit", {"content": "no"}), 409, "reply_running")
    refused(await api.post_async(f"{path}/{begun.reply.pk}/fork"), 409, "reply_running")
    await sync_to_async(stop.stop)(conversation)
    async with asyncio.timeout(10):
        while (await Message.objects.aget(pk=begun.reply.pk)).is_streaming:
            await asyncio.sleep(0.01)


async def test_what_does_not_fit_the_role_or_the_window_is_refused(api: Api, path: str) -> None:
    question, reply = await message(6), await message(7)
    refused(await api.post_async(f"{path}/{question.pk}/regenerate"), 409, "not_a_reply")
    refused(await api.post_async(f"{path}/{reply.pk}/edit", {"content": "no"}), 409, "not_a_question")
    long = {"content": "word " * 4_000}
    detail = refused(await api.post_async(f"{path}/{question.pk}/edit", long), 413, "context_too_large")
    assert detail["message_tokens"] > detail["budget"]
    refused(await api.post_async(f"{path}/{question.pk}/edit", {"content": ""}), 400, "invalid")
    refused(await api.post_async(f"{path}/{question.pk}/edit", {"content": "x", "more": 1}), 400, "invalid")
