"""Rules that a person gives in the chat are seen below their message, and can be taken back there or in words."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations.context import prompt, transcript
from conversations.memory import recall
from conversations.models import Conversation, LedgerEntry, User
from tests.conversations.api_client import Api
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages
from tests.conversations.requests.test_seeing import words_of

pytestmark = pytest.mark.once

FRENCH, STATUS = "Always answer in French.", "From now on end every answer with STATUS."


async def rules(chat: Chat) -> list[str]:
    await chat.refresh()
    return list(chat.conversation.rules)


async def entry(**of: Any) -> LedgerEntry:
    return await LedgerEntry.objects.aget(**of)


@pytest.mark.parametrize(
    ("rule", "withdrawal"),
    [
        (STATUS, "Forget the STATUS line."),
        (FRENCH, "Please answer in English again."),
        ("No emojis.", "Emojis are fine again."),
        ("Antworte immer auf Deutsch.", "Vergiss das mit Deutsch."),
        ("Réponds toujours en français.", "Oublie le français."),
    ],
)
async def test_a_rule_that_is_taken_back_is_in_no_later_request(chat: Chat, rule: str, withdrawal: str) -> None:
    await chat.say("Never push to main.")
    await chat.say(rule)
    assert await rules(chat) == ["Never push to main.", rule]
    await chat.say(withdrawal)
    assert rule not in await rules(chat) and "Never push to main." in await rules(chat)
    assert (await entry(text=rule)).state == "superseded"
    loaded = await sync_to_async(transcript.load)(chat.conversation.pk)
    assert rule not in await sync_to_async(lambda: str(prompt.instructions_of(loaded.head).rules))()


async def test_a_withdrawal_leaves_with_its_message(chat: Chat) -> None:
    from conversations.turns import branches

    await chat.say(STATUS)
    await chat.say("Forget the STATUS line.")
    assert await rules(chat) == []
    question = (await entry(kind="withdrawal")).message
    begun = await sync_to_async(branches.edit)(chat.conversation, question, content="What is the time?")
    await chat.ended(begun.reply.pk)
    assert await rules(chat) == [STATUS]


async def test_the_same_rule_can_be_given_again(chat: Chat) -> None:
    for _ in range(2):
        await chat.say(STATUS)
        assert await rules(chat) == [STATUS]
        await chat.say("Forget the STATUS line.")
        assert await rules(chat) == []


async def test_what_is_unsure_asks_and_waits(chat: Chat, user: User) -> None:
    both = ("End every answer with the word STATUS in red.", "From now on write the word STATUS in every first line.")
    for text in both:
        await sync_to_async(lambda text=text: _add(user, chat.conversation, text))()
    await chat.say("Forget the word STATUS.")
    assert await rules(chat) == list(both)
    asking = await entry(kind="withdrawal")
    assert asking.asks_about is not None
    shown = await sync_to_async(lambda: words_of(Pages(user).get("chat", chat.conversation.pk)))()
    assert f"Stop following this? {both[1]} Yes No" in shown
    answer = await sync_to_async(lambda: Pages(user).post("decide", chat.conversation.pk, asking.pk, state="noted"))()
    assert "No longer a rule" in words_of(answer)
    assert await rules(chat) == [both[0]]
    await sync_to_async(lambda: Pages(user).post("decide", chat.conversation.pk, asking.pk, state="dismissed"))()
    assert await rules(chat) == list(both)


def _add(user: User, conversation: Conversation, text: str) -> None:
    assert Api(user).post(f"/api/conversations/{conversation.pk}/ledger", {"text": text}).status_code == 201


async def test_a_rule_is_shown_below_its_message_and_undone_there(chat: Chat, user: User) -> None:
    await chat.say(FRENCH)
    page = await sync_to_async(lambda: words_of(Pages(user).get("chat", chat.conversation.pk)))()
    assert f"Rule from now on: {FRENCH} Undo" in page
    rule = await entry(text=FRENCH)
    answer = await sync_to_async(lambda: Pages(user).post("decide", chat.conversation.pk, rule.pk, state="dismissed"))()
    assert f"Not a rule: {FRENCH} Make it a rule" in words_of(answer)
    assert await rules(chat) == []


async def test_undoing_a_rule_brings_back_the_one_that_it_replaced(chat: Chat, user: User) -> None:
    await chat.say(FRENCH)
    await chat.say("Always answer in German.")
    assert await rules(chat) == ["Always answer in German."]
    later = await entry(text="Always answer in German.")
    await sync_to_async(lambda: Pages(user).post("decide", chat.conversation.pk, later.pk, state="dismissed"))()
    assert await rules(chat) == [FRENCH]


async def test_another_person_cannot_decide(chat: Chat, django_user_model: Any) -> None:
    await chat.say(FRENCH)
    rule = await entry(text=FRENCH)
    person = await sync_to_async(django_user_model.objects.create_user)("mallory", password="x")
    other = await sync_to_async(Pages)(person)
    answer = await sync_to_async(lambda: other.post("decide", chat.conversation.pk, rule.pk, state="dismissed"))()
    assert answer.status_code == 404 and await rules(chat) == [FRENCH]


@pytest.mark.parametrize("summariser", ["extractive", "scripted"])
async def test_what_was_taken_back_or_answered_stands_in_no_summary(chat: Chat, summariser: str) -> None:
    await Conversation.objects.aupdate(policy={"summariser": summariser, "cooldown": 0, "ahead": False})
    await chat.refresh()
    await chat.say(STATUS)
    for number in range(6):
        await chat.say(f"The service number {number} listens on port {5000 + number}. " + "And more of it. " * 12)
    await chat.say("Forget the STATUS line.")
    chat.llm.enqueue("Sent: node-7 answers in 3 ms.")
    await chat.say("Please send a test ping to node-7 now.")
    for number in range(6):
        await chat.say(f"The host number {number} has {10 + number} disks. " + "And more of it. " * 12)
    chat.llm.enqueue_summary(
        "## Summary\nServices with ports 5000 to 5005.\n\n## Decisions\n- No tabs\n\n## State\nPending: send a test "
        "ping to node-7.\n\n## Open tasks: send a test ping to node-7"
    )
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", summariser), row.steps
    context = chat.conversation.compressed_context
    assert "end every answer" not in context
    assert not [line for line in context.splitlines() if "ping" in line and ("Pending" in line or "Open" in line)]
    if summariser == "scripted":
        asked = str(chat.llm.summaries[-1].body)
        assert "The person has taken these rules back" in asked and STATUS in asked


async def test_recall_quotes_an_order_with_its_withdrawal_alone(chat: Chat) -> None:
    await Conversation.objects.aupdate(policy={"summariser": "extractive", "cooldown": 0, "ahead": False})
    await chat.refresh()
    await chat.say(STATUS)
    await chat.say("Forget the STATUS line.")
    for number in range(20):
        await chat.say(f"The service number {number} listens on port {5000 + number}. " + "And more of it. " * 20)
    await chat.compact()
    await chat.say("What was it with the STATUS line that I asked for in the beginning?")
    (quoted,) = [
        one["content"] for one in chat.llm.chats[-1].body["messages"] if "[Recalled Passages]" in str(one["content"])
    ]
    (order,) = [part for part in quoted.split("\n\n") if STATUS in part]
    withdrawn = await chat.conversation.messages.aget(content="Forget the STATUS line.")
    assert f"a rule in it was taken back on {withdrawn.created_at:%Y-%m-%d}]" in order.splitlines()[0]
    reply = await chat.conversation.messages.alatest("created_at")
    loaded = await sync_to_async(recall.put_together)(chat.conversation.pk, reply.request["recalled"])
    assert loaded and loaded.text == quoted
    place = next(at for at, one in enumerate(reply.request["recalled"]["quotes"]) if len(one) > 4)
    reply.request["recalled"]["quotes"][place][4] = True  # as it was noted before it had a day
    earlier = await sync_to_async(recall.put_together)(chat.conversation.pk, reply.request["recalled"])
    assert earlier and "a rule in it was taken back since]" in earlier.text
