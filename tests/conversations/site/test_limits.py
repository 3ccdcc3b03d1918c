"""How much one person may have under way: docs/limits.md lists it, with what happens at each."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import lease
from conversations.limits import RETRY_SECONDS
from conversations.messages.reply_lease import expiry
from conversations.models import Conversation, Message, User
from conversations.runtime import relay
from conversations.runtime.subscription import Event
from tests.conversations.api_client import Api, refused
from tests.conversations.chat import START, Chat, fill
from tests.conversations.pages import Pages
from tests.servers import free_port

MOST = 2


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    settings.MAX_TURNS_PER_USER = settings.MAX_COMPACTIONS_PER_USER = MOST


def write_replies(owner: Any, count: int) -> list[Conversation]:
    """Conversations whose replies are being written by some other process."""
    made = [Conversation.objects.create(owner=owner) for _ in range(count)]
    for row in made:
        Message.objects.create(
            conversation=row, role="assistant", status="streaming", created_at=START, lease_expires_at=expiry()
        )
    return made


def answered(conversation: Conversation) -> Message:
    """A question and its reply, the last ones of a conversation; the reply is returned."""
    fill(conversation, 2)
    return conversation.messages.get(role="assistant")


def test_one_turn_too_many_is_429_in_words_and_stores_nothing(user: User, conversation: Conversation) -> None:
    write_replies(user, MOST)
    api, path = Api(user), f"/api/conversations/{conversation.pk}/messages"
    response = api.post(path, {"content": "hello", "client_id": "a"})
    detail = refused(response, 429, "rate_limited")
    assert detail["message"].startswith("2 of your replies are being written; at most 2 may be at once.")
    assert response["Retry-After"] == str(RETRY_SECONDS) == str(detail["retry_after"])
    assert not conversation.messages.exists()

    Message.objects.update(status="complete")
    assert api.post(path, {"content": "hello", "client_id": "a"}).status_code == 201


def test_a_message_that_is_sent_again_is_answered_at_the_limit_too(user: User, conversation: Conversation) -> None:
    api, path = Api(user), f"/api/conversations/{conversation.pk}/messages"
    first = api.post(path, {"content": "hello", "client_id": "a"})
    write_replies(user, MOST)
    again = api.post(path, {"content": "hello", "client_id": "a"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["user_message"] == first.json()["user_message"]
    assert conversation.messages.count() == 2


@pytest.mark.parametrize("act", ["regenerate", "edit"])
def test_another_reply_or_question_counts_too_and_replaces_nothing(
    user: User, conversation: Conversation, act: str
) -> None:
    reply = answered(conversation)
    write_replies(user, MOST)
    target = reply if act == "regenerate" else conversation.messages.get(role="user")
    body = {"content": "in other words"} if act == "edit" else {}
    path = f"/api/conversations/{conversation.pk}/messages/{target.pk}/{act}"
    refused(Api(user).post(path, body), 429, "rate_limited")
    assert not conversation.messages.exclude(replaced_by=None).exists()
    assert conversation.messages.count() == 2


@pytest.mark.parametrize("act", ["send", "retry", "regenerate", "edit"])
def test_the_page_says_so_beside_what_was_asked_for(user: User, conversation: Conversation, act: str) -> None:
    reply = answered(conversation)
    Message.objects.filter(pk=reply.pk).update(status="failed" if act == "retry" else "complete")
    write_replies(user, MOST)
    target = conversation.messages.get(role="user") if act == "edit" else reply
    ids = [conversation.pk] if act == "send" else [conversation.pk, target.pk]
    response = Pages(user).post(act, *ids, content="hello", client_id="a")
    beside = f"#refused-{target.pk}" if act == "edit" else "#alert"
    assert (response.status_code, response["HX-Retarget"], response["HX-Reswap"]) == (429, beside, "innerHTML")
    assert "2 of your replies are being written; at most 2 may be at once." in response.content.decode()
    assert conversation.messages.filter(replaced_by=None).count() == 2


def test_another_persons_turns_do_not_count_but_all_together_do(
    settings: Any, user: User, conversation: Conversation
) -> None:
    write_replies(User.objects.create(username="eve"), MOST)
    api, path = Api(user), f"/api/conversations/{conversation.pk}/messages"
    assert api.post(path, {"content": "hello"}).status_code == 201
    settings.MAX_TURNS = MOST
    assert "as many replies as it can" in refused(api.post(path, {"content": "more"}), 429, "rate_limited")["message"]


def test_one_compaction_too_many_is_429_in_words(user: User, conversation: Conversation) -> None:
    fill(conversation, 20)
    for row in (Conversation.objects.create(owner=user) for _ in range(MOST)):
        lease.claim(row.pk, trigger="manual", steering=Steering())
    response = Api(user).post(f"/api/context/{conversation.pk}/compact")
    detail = refused(response, 429, "rate_limited")
    assert detail["message"].startswith("2 of your conversations are being compacted; at most 2 may be at once.")
    assert response["Retry-After"] == str(RETRY_SECONDS)
    page = Pages(user).post("compact", conversation.pk)
    assert (page.status_code, page["HX-Retarget"]) == (429, "#alert")
    command = Pages(user).post("send", conversation.pk, content="/compact")
    assert (command.status_code, command["HX-Retarget"]) == (429, "#alert")
    assert not Compaction.objects.filter(conversation=conversation).exists()


async def test_replies_that_are_asked_for_at_once_stay_within_the_limit(chat: Chat, user: User) -> None:
    chat.llm.enqueue("slow " * 40, drip=0.02, times=10)
    rows = [await Conversation.objects.acreate(owner=user, model_id=chat.conversation.model_id) for _ in range(10)]
    api = await sync_to_async(Api)(user)
    answers = await asyncio.gather(*(api.say(f"/api/conversations/{row.pk}/messages", "hello") for row in rows))
    assert sorted(answer.status_code for answer in answers) == [201] * MOST + [429] * (10 - MOST)


async def test_what_waits_for_redis_while_it_is_away_is_bounded(settings: Any) -> None:
    nowhere = {"address": f"redis://127.0.0.1:{free_port()}", "socket_connect_timeout": 1}
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [nowhere]}}
    settings.CHANNEL_LAYERS = {relay.LAYER: layer}
    one = relay.Relay(asyncio.get_running_loop(), hears=True)
    for _ in range(2 * relay.MAX_OUTBOX_EVENTS):
        one.put(uuid4(), Event("message.delta", {"id": "", "text": "x", "at": 0}))
    assert (len(one.outbox), one.number) == (
        relay.MAX_OUTBOX_EVENTS,
        relay.MAX_OUTBOX_EVENTS,
    )  # by the number the others notice
    await one.stop()
