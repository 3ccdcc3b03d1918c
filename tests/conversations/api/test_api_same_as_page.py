"""What means one thing on the page means the same in the API, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from compression.models import Compaction
from conversations.models import ApiKey, Conversation, Message, User
from tests.conversations.api.test_api_messages import events_of
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


def test_the_command_compacts_and_is_sent_to_nobody(api: Api, conversation: Conversation, llm: LlmServer) -> None:
    fill(conversation, 20)
    response = api.post(f"/api/conversations/{conversation.pk}/messages", {"content": "/compact keep all ports"})
    assert response.status_code == 202
    told = response.json()
    row = Compaction.objects.get()
    assert told["task_id"] == told["compaction"]["id"] == str(row.pk)
    assert (row.trigger, row.status, row.steering["quality"]) == ("api", "succeeded", "standard")
    assert row.steering["instructions"] == "keep all ports"
    assert not llm.chats and conversation.messages.count() == 20
    assert api.get(f"/api/tasks/{row.pk}/progress").json()["status"] == "succeeded"


async def test_the_command_streams_how_it_goes(chat: Chat, user: User) -> None:
    api = await sync_to_async(Api)(user)
    await sync_to_async(fill)(chat.conversation, 20)
    path = f"/api/conversations/{chat.conversation.pk}/messages"
    response = await api.say(path, "/compact", stream=True)
    assert response["Content-Type"] == "text/event-stream"
    heard = [(kind, data) async for kind, data in events_of(response) if kind]
    assert heard[-1][0] == "compression.completed" and not chat.llm.chats
    assert (await Compaction.objects.aget()).status == "succeeded"
    assert await Message.objects.filter(conversation=chat.conversation).acount() == 20


def test_the_command_beside_files_or_while_one_runs_is_refused(api: Api, conversation: Conversation) -> None:
    path = f"/api/conversations/{conversation.pk}/messages"
    body = {"content": "/compact", "attachments": ["0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4"]}
    assert refused(api.post(path, body), 400, "invalid")["field"] == "attachments"
    fill(conversation, 20)
    Compaction.objects.create(conversation=conversation, trigger="manual", status="pending")
    assert refused(api.post(path, {"content": "/compact"}), 409, "compaction_running")


@pytest.mark.parametrize("content", ["/compacted roads", "say /compact", "/compact\u200bnow"])
async def test_what_only_looks_like_the_command_is_said(chat: Chat, user: User, content: str) -> None:
    api = await sync_to_async(Api)(user)
    response = await api.say(f"/api/conversations/{chat.conversation.pk}/messages", content)
    assert response.status_code == 201 and response.json()["user_message"]["content"] == content


@pytest.mark.parametrize("text", ["  Answer briefly.\r\nIn verse. \n", " \n\t "])
def test_a_system_prompt_is_stored_the_same_by_page_and_api(
    api: Api, conversation: Conversation, user: User, text: str
) -> None:
    Pages(user).post("system_prompt", conversation.pk, system_prompt=text)
    conversation.refresh_from_db()
    by_page = conversation.system_prompt
    api.patch(f"/api/conversations/{conversation.pk}", {"system_prompt": text})
    conversation.refresh_from_db()
    assert conversation.system_prompt == by_page == text.replace("\r\n", "\n").strip()
    made = api.post("/api/conversations", {"system_prompt": text}).json()
    assert made["system_prompt"] == by_page


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_valid_key_is_no_hindrance_where_metrics_need_none(user: Any, address: str) -> None:
    _, key = ApiKey.make(user, "tests")

    def asked(bearer: str, **headers: str) -> int:
        given = headers | {"Authorization": f"Bearer {bearer}"}
        return Client().get("/metrics", headers=given, REMOTE_ADDR=address).status_code

    assert (asked(key), asked("wrong"), asked(key, Via="a proxy")) == (200, 401, 403)
