"""What is said of facts that were compacted is what the next request has of them, on every page and in the API."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from compression.core.facts.fact_counts import kept_now
from compression.core.values import CountedFact
from compression.models import Checkpoint, Compaction
from compression.records import active_checkpoints
from conversations.compaction import compaction, edit_summary
from conversations.context import transcript
from conversations.memory.facts_kept import facts_kept, facts_kept_of
from conversations.models import Conversation, Message, User
from conversations.turns import forks
from tests.conversations.api_client import Api
from tests.conversations.chat import START, Chat

pytestmark = pytest.mark.once

BLAND = "They had a good talk about several things, and agreed how to go on with all of them."
GARBAGE = (
    f"## Summary\n{'x ' * 239}\n\n## State\n- Done: all",
    f"## Summary\n{'The talk was about the message and so on. ' * 8}\n\n## State\n- Done: -",
    f"## Summary\n{BLAND}\n\n## State\n- Done: all",
    "## Summary\n-\n\n## State\n- Done: none",
)


@pytest.fixture(autouse=True)
def nothing_recalled(conversation: Conversation) -> None:
    """The figures are of summaries and messages; recalled passages change from question to question."""
    Conversation.objects.filter(pk=conversation.pk).update(policy={"recall": False})


def said(conversation: Conversation, count: int) -> None:
    """So many more messages, each with a path, a number and a name of its own."""
    start = Message.objects.filter(conversation=conversation).count()
    for number in range(start, start + count):
        told = f"We put part{number}/main.py on port {5000 + number}, as Jane Roe{number} said. "
        text = told + f"word{number} " * 40
        Message.objects.create(
            conversation=conversation,
            role="assistant" if number % 2 else "user",
            content=text,
            created_at=START + timedelta(minutes=number),
            token_count=transcript.message_tokens(text),
        )


async def lived(chat: Chat, times: int, *, messages: int = 12, **steering: Any) -> list[Compaction]:
    rows = []
    for _ in range(times):
        await sync_to_async(said)(chat.conversation, messages)
        rows.append(await chat.compact(trigger="api", **({"keep_recent": 2} | steering)))
        assert rows[-1].status == "succeeded", rows[-1].error
    return rows


async def counted(chat: Chat) -> Any:
    await chat.refresh()
    return await sync_to_async(facts_kept)(chat.conversation)


def facts_in_force(conversation: Conversation) -> list[CountedFact]:
    return [fact for one in active_checkpoints(conversation.pk) for fact in one.facts or ()]


@pytest.mark.parametrize("strategy", ["checkpoints", "rolling", "continuation", "truncate"])
async def test_a_fact_that_counts_as_kept_is_in_the_next_request_and_no_other(chat: Chat, strategy: str) -> None:
    await Conversation.objects.aupdate(policy={"recall": False, "strategy": strategy})
    await lived(chat, 3)
    facts = await counted(chat)
    assert facts.found >= 60 and facts.now == facts.found - len(facts.missing)
    await chat.say("And now?")
    sent = chat.llm.last_request.text
    for fact in await sync_to_async(facts_in_force)(chat.conversation):
        assert (fact.text not in facts.missing) == bool(kept_now([fact], sent).now), fact


async def test_what_ages_counts_as_it_is_now_and_as_it_was_at_first(chat: Chat) -> None:
    """A window with little room: the first summaries are shortened by those that follow."""
    await Conversation.objects.aupdate(policy={"recall": False, "summary_share": 0.1, "summariser": "extractive"})
    first, *_ = await lived(chat, 5)
    of_first = (await sync_to_async(facts_kept_of)(chat.conversation, [first]))[first.pk]
    assert (of_first.found, of_first.at_first) == (first.facts_found, first.facts_kept)
    assert of_first.now < of_first.at_first
    text = chat.conversation.compressed_context
    assert not any(fact in text for fact in of_first.missing if "/" in fact)
    everything = await counted(chat)
    assert everything.now < everything.at_first <= everything.found


async def test_undo_and_edit_change_what_is_counted(chat: Chat) -> None:
    await lived(chat, 2)
    before = await counted(chat)
    checkpoint = await Checkpoint.objects.filter(active=True).afirst()
    assert checkpoint is not None
    short = "## Summary\nNothing.\n\n## State\n- Done: little"
    await sync_to_async(edit_summary.edit)(chat.conversation, number=checkpoint.number, text=short)
    edited = await counted(chat)
    assert (edited.found, edited.at_first) == (before.found, before.at_first)
    assert edited.now < before.now
    await sync_to_async(compaction.rollback)(chat.conversation)
    await sync_to_async(compaction.rollback)(chat.conversation)
    assert (await counted(chat)).found == 0


async def test_facts_that_nobody_noted_are_looked_for_in_the_messages(chat: Chat) -> None:
    """As after an upgrade, or an import of a compacted conversation."""
    await lived(chat, 3)
    before = await counted(chat)
    await Checkpoint.objects.aupdate(facts=None)
    after = await counted(chat)
    assert (after.found, after.now) == (before.found, before.now)
    assert not await Checkpoint.objects.filter(active=True, facts__isnull=True).aexists()


async def test_a_fork_counts_as_its_original(chat: Chat) -> None:
    await lived(chat, 2)
    last = await Message.objects.alatest("created_at")
    copy = await sync_to_async(forks.fork)(chat.conversation, last.pk)
    theirs, ours = await sync_to_async(facts_kept)(copy), await counted(chat)
    assert (theirs.found, theirs.now) == (ours.found, ours.now)


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_a_refused_summary_never_stays(chat: Chat, garbage: str) -> None:
    chat.llm.enqueue_summary(garbage, times=20)
    for row in await lived(chat, random.Random(garbage).randint(1, 3)):
        assert row.summariser == "extractive"
        assert row.steps[0]["summariser"] == "scripted" and row.steps[0]["failed"].startswith("validate: ")
    text = chat.conversation.compressed_context
    assert "x x x" not in text and BLAND not in text and "and so on. The talk" not in text


async def test_with_all_the_room_there_is_a_summary_that_keeps_nothing_is_passed_over_all_the_same(
    chat: Chat, settings: Any
) -> None:
    settings.COMPRESSION_MIN_RETENTION = 0.3
    chat.llm.enqueue_summary("## Summary\nThey talked.\n\n## State\n- Done: little", times=9)
    (row,) = await lived(chat, 1)
    assert row.summariser == "extractive"
    assert row.steps[0]["failed"] == "kept 0 of 21 facts; another summary was better"


async def test_the_facts_of_a_summary_that_keeps_nothing_are_put_back_with_their_sentences(chat: Chat) -> None:
    chat.llm.enqueue_summary("## Summary\nThey talked.\n\n## State\n- Done: little")
    (row,) = await lived(chat, 1)
    assert row.summariser == "scripted" and row.facts_repaired > 15
    line = next(line for line in chat.conversation.compressed_context.splitlines() if line.startswith("- User, "))
    assert line.startswith("- User, 2026-01-05: We put part")
    assert " on port 5000, as Jane Roe0 said." in line


async def test_the_name_of_an_image_is_a_fact_of_what_was_compacted(chat: Chat) -> None:
    await sync_to_async(said)(chat.conversation, 1)
    image = {"hash": "ab" * 32, "name": "plan of the cellar.png", "size": 900, "type": "image/png"}
    await Message.objects.aupdate(images=[image])
    await lived(chat, 1)
    assert "plan of the cellar.png" in chat.conversation.compressed_context
    facts = await sync_to_async(facts_in_force)(chat.conversation)
    assert ("image", "plan of the cellar.png", True) in facts


async def test_page_api_and_admin_say_the_same(chat: Chat, user: User) -> None:
    row, _ = await lived(chat, 2)
    facts = await counted(chat)
    of_row = (await sync_to_async(facts_kept_of)(chat.conversation, [row]))[row.pk]
    await sync_to_async(_said_the_same)(chat.conversation, user, row, facts, of_row)


def _said_the_same(conversation: Conversation, user: User, row: Compaction, facts: Any, of_row: Any) -> None:
    api = Api(user)
    context = api.get(f"/api/conversations/{conversation.pk}/context").json()
    assert context["facts"] == {"found": facts.found, "at_first": facts.at_first, "now": facts.now}
    items = api.get(f"/api/context/{conversation.pk}/compactions").json()["items"]
    mine = next(item for item in items if item["id"] == str(row.pk))
    assert (mine["facts_found"], mine["facts_now"]) == (of_row.found, of_row.now)
    assert api.get(f"/api/tasks/{row.pk}/progress").json()["result"]["facts_now"] == of_row.now
    page = Client()
    page.force_login(user)
    base = f"/c/{conversation.pk}"
    assert f"{facts.now} of {facts.found} facts" in _words(page.get(f"{base}/facts"))
    assert f"{facts.now} of {facts.found}" in _words(page.get(f"{base}/next"))
    for path in (f"{base}/compactions/{row.pk}", f"{base}/timeline"):
        assert f"{row.facts_kept} of {row.facts_found}" in _words(page.get(path))
        assert f"now {of_row.now} of {of_row.found}" in _words(page.get(path))
    user.is_staff = user.is_superuser = True
    user.save()
    admin = _words(page.get(f"/admin/compression/compaction/{row.pk}/change/"))
    assert f"{of_row.now} of {of_row.found}" in admin
    assert f"{row.facts_kept} of {row.facts_found}" in _words(page.get("/admin/compression/compaction/"))


def _words(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


async def test_nobody_sees_another_persons_facts(chat: Chat) -> None:
    await lived(chat, 1)
    page = Client()
    await sync_to_async(page.force_login)(await sync_to_async(User.objects.create_user)("mallory"))
    assert (await sync_to_async(page.get)(f"/c/{chat.conversation.pk}/facts")).status_code == 404
