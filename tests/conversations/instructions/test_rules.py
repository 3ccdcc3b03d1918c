"""What a person told the model to always or never do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.core.plan.tiers import TIERS, tier_budget
from conversations.context import system_prompt
from conversations.context.system_prompt import Instructions
from conversations.errors import Invalid, TooLarge
from conversations.exchange.imports import import_conversations
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, Message, User
from conversations.turns import branches, forks
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once


async def test_a_rule_is_found_when_it_is_said_and_in_force_from_then_on(chat: Chat) -> None:
    await chat.say("Move alpha to node-7. Never restart it on Fridays, and tell me the port.")
    await chat.refresh()
    assert chat.conversation.rules == ["Never restart it on Fridays, and tell me the port."]
    await chat.say("Anything else?")
    system = chat.llm.chats[-1].messages[0]["content"]
    assert system.endswith(
        "# Rules\nThe person set these. Follow them in every answer; where two disagree, the later one holds:\n"
        "- Never restart it on Fridays, and tell me the port."
    )


async def test_rules_outlive_every_summary(chat: Chat) -> None:
    await chat.say("Always answer in one sentence.")
    await sync_to_async(fill)(chat.conversation, 20)
    chat.llm.default_summary = lambda request: "## Summary\nThey talked of ports.\n\n## State\n- Done: little\n"
    row = await chat.compact()
    assert row.status == "succeeded", row.error
    await chat.say("And now?")
    assert "- Always answer in one sentence" in chat.llm.chats[-1].messages[0]["content"]


async def test_a_rule_that_was_removed_stays_away(chat: Chat) -> None:
    await chat.say("Never use tabs.")
    await sync_to_async(change)(chat.conversation, rules=[])
    await chat.say("Hello.")
    await chat.refresh()
    assert chat.conversation.rules == []
    assert "# Rules" not in chat.llm.last_request.text


async def test_a_rule_whose_message_is_edited_away_is_let_go(chat: Chat) -> None:
    await chat.say("Never restart it on Fridays.")
    await chat.say("Always answer in French.")
    french = await Message.objects.aget(content="Always answer in French.")
    copy = await sync_to_async(forks.fork)(
        chat.conversation, (await Message.objects.order_by("created_at").afirst()).pk
    )
    assert copy.rules == ["Never restart it on Fridays."]
    begun = await sync_to_async(branches.edit)(chat.conversation, french.pk, content="Always answer in German.")
    await chat.ended(begun.reply.pk)
    await chat.refresh()
    assert chat.conversation.rules == ["Never restart it on Fridays.", "Always answer in German."]


async def test_a_message_is_measured_with_the_rules_that_it_brings(chat: Chat) -> None:
    rule = "Never " + "restart the service " * 10 + "."
    size = 2_990 - system_prompt.tokens(Instructions("assistant", window=4_000)) - 60
    with pytest.raises(TooLarge):
        await chat.send(f"{rule} " + "word " * size)
    assert not await Message.objects.aexists()


async def test_the_same_rule_is_kept_once(chat: Chat) -> None:
    await chat.say("Never restart it on Fridays.")
    await chat.say("I said: never restart it on Fridays!")
    await chat.refresh()
    assert len(chat.conversation.rules) == 1


async def test_a_pasted_style_guide_leaves_room_for_the_conversation(chat: Chat) -> None:
    await chat.say("\n".join(f"Never use construct number {number} in this code base." for number in range(60)))
    await chat.refresh()
    assert 10 < len(chat.conversation.rules) < 40
    assert sum(len(rule) for rule in chat.conversation.rules) < 4 * 4_000 / 16 * 1.5


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("never", "rules: must be a list"),
        ([""], r"rules\[0\]: must not be empty"),
        (["a", 3], r"rules\[1\]: must be text"),
        (["x" * 1_001], r"rules\[0\]: at most 1,000"),
        (["a\0b"], r"rules\[0\]: must not contain a NUL"),
        (["x"] * 51, "rules: at most 50 rules, not 51"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_name(conversation: Conversation, value: Any, named: str) -> None:
    with pytest.raises(Invalid, match=named):
        change(conversation, rules=value)
    conversation.refresh_from_db()
    assert conversation.rules == []


def test_rules_leave_room_for_the_conversation(conversation: Conversation, user: User) -> None:
    many = [f"never {number} " + "do this or that " * 14 for number in range(50)]
    answer = Api(user).patch(f"/api/conversations/{conversation.pk}", {"rules": many})
    assert answer.status_code == 400
    assert "rules: together they take" in answer.content.decode()
    conversation.refresh_from_db()
    assert conversation.rules == []


def test_rules_by_the_api(conversation: Conversation, user: User) -> None:
    api, address = Api(user), f"/api/conversations/{conversation.pk}"
    answer = api.patch(address, {"rules": ["never  deploy\non Fridays", "never deploy on Fridays"]})
    assert answer.json()["rules"] == ["never deploy on Fridays"]
    assert api.patch(address, {"rules": [""]}).status_code == 400
    assert api.get(address).json()["rules"] == ["never deploy on Fridays"]


def test_what_is_said_in_an_imported_conversation_is_no_rule(user: User, profile: Any) -> None:
    lines = [
        {"role": "user", "content": "Always use tabs."},
        {"role": "assistant", "content": "You should never use spaces."},
        {"role": "user", "content": "Fine."},
    ]
    (alone,) = import_conversations(user, json.dumps({"title": "t", "messages": lines}).encode())
    assert alone.rules == []
    named = [line | {"name": "Caroline"} for line in lines]
    (together,) = import_conversations(user, json.dumps({"title": "t", "messages": named}).encode())
    assert together.rules == []


@pytest.mark.parametrize("window", [*(limit for limit, _, _ in TIERS), 1_000_000])
@pytest.mark.parametrize("mode", list(system_prompt.MODES))
def test_base_instructions_keep_to_their_tier(window: int, mode: str) -> None:
    assert system_prompt.tokens(Instructions(mode, window=window)) <= tier_budget(window)


def test_a_larger_window_gets_more_guidance_and_a_personal_prompt_is_sent_whole() -> None:
    sizes = [system_prompt.tokens(Instructions("assistant", window=limit)) for limit, _, _ in TIERS]
    assert sizes == sorted(set(sizes))
    personal = "Be kind. " * 2_000
    assert personal in system_prompt.text(Instructions("developer", personal, window=4_000))
