"""What a model saw for a reply, and what it took, stay with its copies: in forks, and where a version is used again."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from PIL import Image

from compression.days import Days
from compression.models import Checkpoint
from conversations.analytics import person, tallies
from conversations.api.requests import _replayed_json
from conversations.compaction import compaction, snapshots
from conversations.errors import Invalid
from conversations.exchange import exports, imports
from conversations.messages import attachments
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile, ToolCall, Wording
from conversations.ops import backups
from conversations.requests import replay
from conversations.runtime.payloads import message_json
from conversations.turns import branches, forks, turn, versions
from tests.conversations.chat import Chat, fill
from tests.conversations.pages import Pages
from tests.conversations.spent import NOON, failed, reply, run

pytestmark = pytest.mark.once

FIGURES = (
    "model", "prompt_tokens", "completion_tokens", "cached_tokens", "saved_tokens", "cost_usd", "first_token_ms",
    "duration_ms", "finish_reason", "status", "error", "token_count",
)  # fmt: skip
SAME = ("chat_template", "messages", "usage", "hash", "is_exact", "model", "model_id", "max_tokens", "why")
"""Of a past request, what the API tells of the original and of the copy alike."""
HOUR = timedelta(hours=1)
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}}


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


async def used(chat: Chat, current: Message, number: int) -> Message:
    return await sync_to_async(versions.use)(chat.conversation, current.pk, number=number)


async def forked(chat: Chat, last: Message | None = None) -> Chat:
    said = Message.objects.filter(conversation=chat.conversation, replaced_by=None)
    last = last or await said.alatest("created_at")
    return Chat(await sync_to_async(forks.fork)(chat.conversation, last.pk), chat.llm)


async def regenerated(chat: Chat, old: Message) -> Message:
    row = await sync_to_async(branches.regenerate)(chat.conversation, old.pk)
    return await chat.ended(row.pk)


async def edited(chat: Chat, old: Message, content: str) -> Message:
    begun = await sync_to_async(branches.edit)(chat.conversation, old.pk, content=content)
    await chat.ended(begun.reply.pk)
    return begun.question


async def told(conversation: Conversation, content: str) -> Message:
    return await Message.objects.aget(conversation=conversation, content=content, replaced_by=None)


def _noted(conversation: Conversation) -> list[Message]:
    return list(replay.noted_replies(conversation).filter(replaced_by=None).order_by("created_at"))


def seen(conversation: Conversation) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of each reply of the history that has a record: the request as the API tells it, and the figures."""
    found = []
    for row in _noted(conversation):
        told = _replayed_json(replay.replay(conversation, row.pk))
        shown = [(part["kind"], part["tokens"], part["digest"]) for part in told["parts"]]
        assert told["is_exact"], (row.content, told["why"])
        figures = {name: getattr(row, name) for name in FIGURES} | {
            "usage": message_json(row, conversation.window)["usage"]
        }
        found.append(({name: told[name] for name in SAME} | {"parts": shown}, figures))
    return found


async def look(chat: Chat) -> list[Any]:
    return await sync_to_async(seen)(chat.conversation)


async def own_alone(chat: Chat) -> None:
    """Every part that is a message leads to one of the history of this conversation."""

    def check() -> None:
        there = {str(pk) for pk in Message.objects.filter(conversation=chat.conversation).values_list("pk", flat=True)}
        for row in _noted(chat.conversation):
            parts = replay.replay(chat.conversation, row.pk).parts
            assert {part.message_id for part in parts if part.message_id} <= there

    await sync_to_async(check)()


def picture() -> bytes:
    file = BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return file.getvalue()


async def eventful(chat: Chat) -> None:
    """Summaries, one of them undone, pins, images, results of tools, and some that are left out of requests."""
    await ModelProfile.objects.aupdate(
        price_input=Decimal(2), price_output=Decimal(8), price_cached=Decimal(1), sees_images=True, window=8_000
    )
    early = [row async for row in Message.objects.filter(conversation=chat.conversation).order_by("created_at")]
    await sync_to_async(protect)(chat.conversation, early[3].pk, on=True)
    file = await sync_to_async(attachments.upload)(chat.conversation, name="cat.png", data=picture())
    chat.llm.enqueue("A cat.", usage=USAGE)
    begun = await sync_to_async(turn.begin)(chat.conversation, content="What is it?", attachments=[file.pk])
    answer = await chat.ended(begun.reply.pk)
    for number in range(2):
        await ToolCall.objects.acreate(
            message=answer, call_id=f"c{number}", name="search", arguments="{}", result="found " * 60,
            created_at=answer.created_at, token_count=70,
        )  # fmt: skip
    chat.llm.enqueue("With tools.", usage=USAGE)
    await chat.say("And with tools?")
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(elided={str(answer.pk): 30})
    await chat.say("And without their results?")
    assert (await chat.compact()).status == "succeeded"
    for number in range(4):
        await chat.say(f"more {number} " + "pad " * 120)
    assert (await chat.compact()).status == "succeeded"
    await chat.say("twice compressed")
    await sync_to_async(compaction.rollback)(chat.conversation)
    await chat.say("once compressed")
    await chat.refresh()


async def test_a_fork_shows_what_the_model_saw_as_the_original_does(filled: Conversation, chat: Chat) -> None:
    await eventful(chat)
    before = await look(chat)
    assert len(before) == 9
    assert len({str(told["parts"][1]) for told, _ in before if told["parts"][1][0] == "summary"}) == 2
    assert any(figures["cost_usd"] and figures["cached_tokens"] for _, figures in before)
    copy = await forked(chat)
    assert await look(copy) == before
    await own_alone(copy)
    again = await forked(copy)
    assert await look(again) == before
    await chat.conversation.adelete()
    await copy.conversation.adelete()
    assert await look(again) == before
    await again.say("and here?")
    assert (await look(again))[:-1] == before


async def test_a_backup_holds_copies_with_their_records_and_marks(filled: Conversation, chat: Chat) -> None:
    await eventful(chat)
    copy = await forked(chat)
    days = Days.until(timezone.now().date(), 2)
    before, spent = await look(copy), await sync_to_async(tallies.replies)(days)
    file = BytesIO()
    await sync_to_async(backups.to_stream)(file)
    await sync_to_async(backups.restore)(BytesIO(file.getvalue()), replace=True)
    assert await look(copy) == before
    assert await sync_to_async(tallies.replies)(days) == spent


async def test_what_a_fork_does_later_does_not_change_what_was_seen(filled: Conversation, chat: Chat) -> None:
    await eventful(chat)
    before = await look(chat)
    copy = await forked(chat)
    last = (await sync_to_async(_noted)(copy.conversation))[-1]
    chat.llm.enqueue_summary("## Summary\nHere it went another way.\n\n## Context\n- port=5000")
    assert (await copy.compact(keep_recent=0)).status == "succeeded"
    await copy.say("five " + "pad " * 90)
    await sync_to_async(snapshots.clear)(copy.conversation)
    assert (await copy.compact(keep_recent=0)).status == "succeeded"
    assert (await look(copy))[: len(before)] == before
    summary = (await sync_to_async(replay.replay)(copy.conversation, last.pk)).parts[1]
    assert summary.kind == "summary" and summary.checkpoints == (1,)
    undone = (await sync_to_async(_noted)(copy.conversation))[-3]
    summary = (await sync_to_async(replay.replay)(copy.conversation, undone.pk)).parts[1]
    assert summary.kind == "summary" and summary.checkpoints == (), "the copy has another checkpoint of that number"


async def test_a_version_that_is_used_again_shows_what_the_model_saw(filled: Conversation, chat: Chat) -> None:
    await eventful(chat)
    question = await told(chat.conversation, "What is it?")
    before = await look(chat)
    asked = await edited(chat, question, "What was it?")
    asked = await used(chat, asked, 1)
    assert await look(chat) == before
    asked = await used(chat, asked, 2)
    assert [told["messages"][-1]["content"][0]["text"] for told, _ in await look(chat)] == ["What was it?"]
    await used(chat, asked, 1)
    assert await look(chat) == before
    await own_alone(chat)
    copy = await forked(chat)
    assert await look(copy) == before
    await own_alone(copy)


async def test_versions_within_versions_name_the_messages_that_stand_there(chat: Chat) -> None:
    chat.llm.enqueue("a")
    await chat.say("which port?")
    chat.llm.enqueue("b")
    inner = await chat.say("which host?")
    before = await look(chat)
    chat.llm.enqueue("c")
    await regenerated(chat, inner)
    outer = await edited(chat, await told(chat.conversation, "which port?"), "which name?")
    outer = await used(chat, outer, 1)
    chat.llm.enqueue("d")
    await regenerated(chat, await told(chat.conversation, "c"))
    outer = await used(chat, await used(chat, outer, 2), 1)
    current = await told(chat.conversation, "d")
    for number in sorted(await sync_to_async(versions.numbers)(current)):
        current = await Message.objects.filter(conversation=chat.conversation, replaced_by=None).alatest("created_at")
        if current.version != number:
            current = await used(chat, current, number)
        found = await look(chat)
        assert len(found) == 2
        assert [told["messages"][1:] for told, _ in found] == [told["messages"][1:] for told, _ in before]
        await own_alone(chat)
        copy = await forked(chat)
        assert await look(copy) == found
        inner = await regenerated(copy, (await sync_to_async(_noted)(copy.conversation))[-1])
        await used(copy, inner, 1)
        assert await look(copy) == found
        await own_alone(copy)


async def test_what_was_replaced_keeps_its_record_too(filled: Conversation, chat: Chat) -> None:
    first = await chat.say("which port?")
    second = await regenerated(chat, first)
    await used(chat, second, 1)
    for row in (first, second):
        assert (await sync_to_async(replay.replay)(chat.conversation, row.pk)).is_exact


async def test_a_reply_without_a_record_has_none_in_its_copies(filled: Conversation, chat: Chat) -> None:
    reply = await chat.say("which port?")
    await Message.objects.filter(pk=reply.pk).aupdate(request=None)
    copy = await forked(chat)
    assert await look(copy) == []
    second = await regenerated(chat, reply)
    again = await used(chat, second, 1)
    assert (again.request, again.prompt_tokens, again.copy_of) == (None, reply.prompt_tokens, reply.pk)


async def test_a_copy_says_what_is_gone_as_its_original_does(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    reply = await chat.say("which port?")
    await Wording.objects.all().adelete()
    await chat.conversation.checkpoints.all().adelete()
    copy = await forked(chat)
    (row,) = await sync_to_async(_noted)(copy.conversation)
    gone = [await sync_to_async(replay.replay)(one.conversation_id, one.pk) for one in (reply, row)]
    assert gone[0].gone == gone[1].gone == "No longer there: the system prompt, the summary."


def test_copies_are_in_no_sum(conversation: Conversation) -> None:
    Message.objects.create(conversation=conversation, role="user", content="hello?", created_at=NOON)
    spent = {"cost_usd": Decimal("0.25"), "saved_tokens": 500, "duration_ms": 900, "first_token_ms": 80}
    first, last = (reply(conversation, NOON + number * HOUR, content="said", **spent) for number in (1, 2))
    broken = failed(conversation, "HTTP 500", NOON + 3 * HOUR)
    Message.objects.filter(pk=broken.pk).update(place=first.pk, version=2, versions=2)
    days = Days.until(timezone.now().date(), 3 + (timezone.now() - NOON).days)
    owner = conversation.owner

    def totals() -> list[Any]:
        account = person.account_of(owner, days)
        return [tallies.replies(days), tallies.replies(days, owner=owner), tallies.waits(days, of=2), account.total]

    before = totals()
    assert sum(tally.requests for tally in before[0].values()) == 3
    copies = [forks.fork(conversation, last.pk)]
    copies.append(forks.fork(copies[0], copies[0].messages.latest("created_at").pk))
    row = Message.objects.filter(conversation=conversation).earliest("created_at")
    Message.objects.filter(pk=row.pk).update(place=row.pk, version=1, versions=2)
    other = Message.objects.create(
        conversation=conversation, role="user", content="hey?", created_at=broken.created_at.replace(year=2027),
        place=row.pk, version=2, versions=2,
    )  # fmt: skip
    Message.objects.filter(conversation=conversation).exclude(pk=other.pk).update(replaced_by=other)
    versions.use(conversation, other.pk, number=1)
    assert Message.objects.filter(cost_usd=Decimal("0.25"), duration_ms=900).count() == 8
    assert Message.objects.filter(status="failed").count() == 2
    assert totals() == before
    copies[0].delete()
    assert totals() == before
    conversation.delete()
    assert [sum(tally.requests for tally in of.values()) for of in totals()[:2]] == [0, 0]


def queries_of_a_fork(conversation: Conversation, count: int) -> int:
    nothing = {"v": 1, "kept": [], "protected": [], "elided": {}, "after": None, "up_to": None, "system": "s"}
    row = run(conversation)
    for number in range(1, count + 1):
        Checkpoint.objects.create(
            conversation=conversation, compaction=row, number=number, level=1, summary=f"Summary {number}.",
            token_count=5, original_tokens=50, first_message=row.pk, last_message=row.pk, last_message_at=NOON,
            active=False,
        )  # fmt: skip
        request = nothing | {"checkpoints": list(range(1, number + 1))}
        reply(conversation, NOON + timedelta(minutes=number), request=request)
    with CaptureQueriesContext(connection) as ran:
        copy = forks.fork(conversation, conversation.messages.latest("created_at").pk)
    assert Wording.objects.filter(conversation=copy).count() == count
    return len(ran.captured_queries)


def test_a_fork_takes_the_same_queries_however_many_records_it_carries(conversation: Conversation, user: Any) -> None:
    other = Conversation.objects.create(owner=user, model=conversation.model)
    assert queries_of_a_fork(conversation, 1) == queries_of_a_fork(other, 200)


async def test_the_page_and_the_api_show_it_for_a_copy(filled: Conversation, chat: Chat, user: Any) -> None:
    await chat.compact()
    chat.llm.enqueue("Port 8443.", usage=USAGE)
    await chat.say("which port?")
    copy = await forked(chat)
    row = await told(copy.conversation, "Port 8443.")

    def pages() -> tuple[str, str, str]:
        there, ids = Pages(user), (copy.conversation.pk, row.pk)
        thread, menu, request = there.get("chat", ids[0]), there.get("message_menu", *ids), there.get("request", *ids)
        return thread.content.decode(), menu.content.decode(), " ".join(request.content.decode().split())

    thread, menu, request = await sync_to_async(pages)()
    assert f'id="request-of-{row.pk}"' in menu and "1,000 in · 50 out" in thread
    assert "Exactly what was sent: the hash agrees." in request and "600 of them cached" in request


async def test_a_file_brings_what_replies_took_and_it_counts_in_no_sum(
    filled: Conversation, chat: Chat, user: Any
) -> None:
    await ModelProfile.objects.aupdate(price_input=Decimal(2), price_output=Decimal(8), price_cached=Decimal(1))
    chat.llm.enqueue("Port 8443.", usage=USAGE)
    await chat.say("which port?")
    copy = await forked(chat)
    data = await sync_to_async(exports.as_json)(copy.conversation)
    again = await sync_to_async(exports.as_json)(chat.conversation)
    assert [row.get("usage") for row in data["messages"]] == [row.get("usage") for row in again["messages"]]
    days = Days.until(timezone.now().date(), 2)
    before = await sync_to_async(tallies.replies)(days)
    (back,) = await sync_to_async(imports.import_conversations)(user, json.dumps(data).encode())
    row, original = await told(back, "Port 8443."), await told(filled, "Port 8443.")
    kept = [name for name in FIGURES if name != "error"]
    assert [getattr(row, name) for name in kept] == [getattr(original, name) for name in kept]
    assert row.cost_usd == Decimal("0.0018") and row.duration_ms is not None and row.request is None
    assert [message_json(one, back.window)["is_copy"] for one in (row, original)] == [True, False]
    assert await sync_to_async(tallies.replies)(days) == before
    again = await sync_to_async(exports.as_json)(back)
    assert [entry.get("usage") for entry in again["messages"]] == [entry.get("usage") for entry in data["messages"]]


@pytest.mark.parametrize(
    ("usage", "place"),
    [
        ([], "usage: must be an object"),
        ({"prompt_tokens": -1}, "usage.prompt_tokens: must be a whole number from 0"),
        ({"duration_ms": 2**40}, "usage.duration_ms: must be a whole number from 0"),
        ({"cost_usd": 0.5}, "usage.cost_usd: must be text"),
        ({"cost_usd": "NaN"}, 'usage.cost_usd: must be US dollars as text, such as "0.0125", from 0 to 999,999'),
        ({"cost_usd": "1000000"}, "usage.cost_usd: must be US dollars"),
        ({"cost_usd": "-1"}, "usage.cost_usd: must be US dollars"),
        ({"cost_usd": "cheap"}, "usage.cost_usd: must be US dollars"),
    ],
)
def test_figures_of_a_file_that_cannot_be_are_refused(filled: Conversation, user: Any, usage: Any, place: str) -> None:
    data = exports.as_json(filled)
    data["messages"][1]["usage"] = usage
    with pytest.raises(Invalid) as refused:
        imports.import_conversations(user, json.dumps(data).encode())
    assert f"messages[1].{place}" in refused.value.message
