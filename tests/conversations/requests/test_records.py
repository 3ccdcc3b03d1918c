"""What each reply was asked with: noted when it ends, and put together again exactly, whatever has happened since."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from prometheus_client import REGISTRY

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction
from conversations.compaction import compaction, edit_summary, snapshots
from conversations.context import prompt, transcript
from conversations.errors import NotFound, Refused
from conversations.exchange import exports, imports
from conversations.instructions import goals
from conversations.instructions.conversation_settings import change
from conversations.messages.protection import protect
from conversations.models import Conversation, Message, ModelProfile, ToolCall, Wording
from conversations.requests import replay, request_log
from conversations.turns import branches, running_replies, stop, turn
from tests.conversations.chat import Chat, fill
from tests.conversations.compaction.test_emergency import searched, summarised
from tests.conversations.compaction.test_states import done
from tests.llm_server import LlmServer, Request

OWN = "## Summary\nPorts were settled.\n\n## Context\n- port=5000"


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


def hash_of(request: Request) -> str:
    """As docs/replay.md tells it to anybody who wants to check."""
    text = json.dumps(request.body["messages"], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


async def said(chat: Chat, content: str) -> Message:
    """The reply, whose record tells what the server has just received."""
    reply = await chat.say(content)
    await told(chat, reply)
    return reply


async def told(chat: Chat, reply: Message) -> None:
    received = chat.llm.chats[-1]
    row = await Message.objects.aget(pk=reply.pk)
    assert (row.request["hash"], row.request["model"]) == (hash_of(received), received.body["model"])
    assert row.request["max_tokens"] == received.body.get("max_tokens")


async def all_exact(chat: Chat) -> list[replay.Replayed]:
    """Every reply that was asked for in this conversation, replaced ones too, has the request that was received."""
    received = {hash_of(request): request.messages for request in chat.llm.chats}
    return await sync_to_async(_all_exact)(chat.conversation, received)


def _all_exact(conversation: Conversation, received: dict[str, Any]) -> list[replay.Replayed]:
    found = []
    for row in replay.noted_replies(conversation).order_by("created_at"):
        replayed = replay.replay(conversation, row.pk)
        assert replayed.is_exact, replayed.gone
        assert replayed.messages == received[row.request["hash"]]
        for kind, tokens in replayed.tokens.items():
            assert tokens == sum(part.tokens for part in replayed.parts if part.kind == kind), kind
        found.append(replayed)
    return found


async def message(number: int) -> Message:
    return await Message.objects.aget(content__startswith=f"Message {number} ")


async def replayed(chat: Chat, reply: Message) -> replay.Replayed:
    return await sync_to_async(replay.replay)(chat.conversation, reply.pk)


async def test_a_request_is_put_together_again_part_by_part(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    reply = await said(chat, "Which port?")
    found = await replayed(chat, reply)
    assert [part.kind for part in found.parts] == ["system", "summary", *["live"] * 5]
    assert found.messages == chat.llm.chats[-1].messages
    assert found.parts[-1].text == "Which port?"
    checkpoint = await Checkpoint.objects.aget()
    assert found.parts[1].checkpoints == (checkpoint.number,)
    assert found.total == reply.prompt_tokens
    assert found.noted["window"] == 4_000


async def test_what_is_stored_for_a_turn_holds_no_word_of_it(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await said(chat, "Which port is the zebra's?")
    reply = await said(chat, "And which the emu's?")
    stored = json.dumps(reply.request)
    assert len(stored) < 700
    assert not any(word in stored for word in ("zebra", "port", "helpful", "Summary"))
    wording = await Wording.objects.aget()
    assert wording.text == chat.llm.chats[-1].messages[0]["content"]
    assert wording.digest == reply.request["system"]


async def test_replaced_messages_are_in_the_old_requests_and_not_in_the_new_ones(
    filled: Conversation, chat: Chat
) -> None:
    first = await said(chat, "First question.")
    question = await said(chat, "Second question.")
    again = await sync_to_async(branches.regenerate)(chat.conversation, question.pk)
    await told(chat, await chat.ended(again.pk))
    begun = await sync_to_async(branches.edit)(chat.conversation, (await message(16)).pk, content="Something else.")
    await told(chat, await chat.ended(begun.reply.pk))
    await said(chat, "And then?")
    chat.llm.enqueue(status=401)
    failed = await said(chat, "This fails.")
    retried = await sync_to_async(turn.retry)(chat.conversation, failed.pk)
    await told(chat, await chat.ended(retried.pk))
    found = {one.reply.pk: one for one in await all_exact(chat)}
    assert len(found) == 7
    texts = [part.text.split(" says")[0] for part in found[first.pk].parts]
    assert texts[1:] == [*(f"Message {number}" for number in range(20)), "First question."]
    assert [part.text for part in found[retried.pk].parts][-2:] == ["All right.", "This fails."]


@pytest.mark.parametrize("strategy", ["checkpoints", "rolling", "continuation", "truncate"])
async def test_summaries_that_aged_merged_or_were_folded_are_found_again(
    filled: Conversation, chat: Chat, settings: Any, strategy: str
) -> None:
    settings.COMPRESSION_STRATEGY = strategy
    for number in range(4):
        assert (await chat.compact()).status == "succeeded"
        for more in range(2):
            await said(chat, f"more {number} {more} " + "pad " * 150)
    found = await all_exact(chat)
    assert len({one.parts[1].checkpoints for one in found}) > 3
    assert all(one.parts[1].kind == "summary" for one in found)


async def test_undone_restored_cleared_and_edited_summaries_are_found_again(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    await said(chat, "one")
    snapshot = await sync_to_async(snapshots.take_snapshot)(chat.conversation)
    await sync_to_async(compaction.rollback)(chat.conversation)
    await said(chat, "undone")
    await sync_to_async(compaction.rollback)(chat.conversation, snapshot_id=snapshot.pk)
    await said(chat, "restored")
    active = await Checkpoint.objects.aget(active=True)
    await sync_to_async(edit_summary.edit)(chat.conversation, number=active.number, text=OWN)
    await said(chat, "edited")
    await sync_to_async(snapshots.clear)(chat.conversation)
    await said(chat, "cleared")
    found = await all_exact(chat)
    assert [one.parts[1].checkpoints for one in found] == [(1,), (), (1,), (2,), ()]
    assert OWN in found[3].parts[1].text


async def test_kept_and_protected_messages_are_told_from_live_ones(filled: Conversation, chat: Chat) -> None:
    for number in (2, 18):
        await sync_to_async(protect)(chat.conversation, (await message(number)).pk, on=True)
    await chat.compact()
    await sync_to_async(protect)(chat.conversation, (await message(5)).pk, on=True)
    before = await said(chat, "protected")
    for number in (2, 18):
        await sync_to_async(protect)(chat.conversation, (await message(number)).pk, on=False)
    after = await said(chat, "not protected any more")
    await chat.compact()
    await said(chat, "condensed")
    found = {one.reply.pk: one for one in await all_exact(chat)}
    pinned = [part.text.split(" says")[0] for part in found[before.pk].parts if part.kind == "protected"]
    assert pinned == ["Message 2", "Message 5", "Message 18"]
    assert [part.kind for part in found[after.pk].parts[2:5]] == ["live", "protected", "live"]


async def test_results_of_tools_are_cut_as_they_were_and_left_out_where_they_were(
    conversation: Conversation, chat: Chat, settings: Any
) -> None:
    settings.TOOL_RESULT_MAX_CHARS = 300
    await sync_to_async(searched)(conversation, [50, 60])
    reply = await said(chat, "Cut?")
    settings.TOOL_RESULT_MAX_CHARS = 20_000
    for number, result in enumerate(["found " * 3_000, None]):
        await ToolCall.objects.acreate(
            message=reply, call_id=f"late_{number}", name="search", arguments="{}", result=result,
            created_at=reply.created_at,
        )  # fmt: skip
    await Message.objects.filter(pk=reply.pk).aupdate(token_count=3_050, is_protected=True)
    await said(chat, "Left out?")
    settings.TOOL_RESULT_MAX_CHARS = 100
    cut, left_out = await all_exact(chat)
    results = [part for part in cut.parts if part.role == "tool"]
    assert all(part.text.endswith("… [truncated]") and 300 < len(part.text) < 320 for part in results)
    assert str(reply.pk) in left_out.noted["elided"]
    texts = [part.text for part in left_out.parts if part.role == "tool"]
    assert len(texts) == 4 and all("left out to make room" in text for text in texts)
    assert cut.parts[2].calls == [{"name": "search", "arguments": '{"for": "ports"}'}]


async def test_summaries_that_were_made_short_in_an_emergency_are_found_again(
    conversation: Conversation, chat: Chat
) -> None:
    await ModelProfile.objects.aupdate(window=16_000)
    await summarised(chat, 6)
    await said(chat, "Which port?")
    await ModelProfile.objects.aupdate(window=1_000)
    await said(chat, "And in a small window?")
    before, after = await all_exact(chat)
    assert (before.noted["window"], after.noted["window"]) == (16_000, 1_000)
    assert len(after.parts[1].checkpoints) == 1 < len(before.parts[1].checkpoints)


async def test_a_summary_that_was_replaced_while_the_reply_was_written_is_the_one_that_was_sent(
    filled: Conversation, chat: Chat
) -> None:
    await chat.compact()
    chat.llm.enqueue("slow words of an answer", drip=0.2)
    begun = await chat.send("one")
    while not running_replies.text_so_far(begun.reply):
        await asyncio.sleep(0.01)
    row = await chat.compact(keep_recent=0)
    assert row.status == "succeeded", row.error
    assert (await Message.objects.aget(pk=begun.reply.pk)).is_streaming
    reply = await chat.ended(begun.reply.pk)
    await told(chat, reply)
    assert reply.request["checkpoints"] == [1]
    await all_exact(chat)


async def test_other_models_modes_rules_and_goals_do_not_change_what_was_sent(
    filled: Conversation, chat: Chat, profile: ModelProfile
) -> None:
    await said(chat, "one")
    with LlmServer() as second:
        other = await ModelProfile.objects.acreate(
            name="second", model_id="second-1", base_url=second.url, api_key="k", window=9_000, max_reply_tokens=77
        )
        await Conversation.objects.aupdate(mode="developer", model=other)
        await chat.refresh()
        await sync_to_async(change)(chat.conversation, rules=["Always answer in French."])
        reply = await chat.say("two")
        body = second.chats[-1].body
        found = await replayed(chat, reply)
        assert found.messages == body["messages"]
        assert (found.reply.model, found.noted["model"], found.noted["max_tokens"]) == ("second", "second-1", 77)
        assert body["max_tokens"] == 77
    await Conversation.objects.aupdate(mode="assistant", model=profile)
    await chat.refresh()
    await sync_to_async(goals.set_goal)(chat.conversation, description="Settle the ports.", priority="high")
    reply = await said(chat, "three")
    assert await Wording.objects.acount() == 3
    first = await Message.objects.filter(request__isnull=False).order_by("created_at").afirst()
    assert first is not None and (await replayed(chat, first)).is_exact
    assert (await replayed(chat, reply)).is_exact


async def test_an_imported_conversation_is_recorded_from_its_first_reply_here(
    user: Any, profile: ModelProfile, chat: Chat
) -> None:
    data = {
        "format": "chatsite", "version": 1, "conversation": {"title": "Old", "system_prompt": "Be brief."},
        "messages": [
            {"role": "user", "content": "Long ago."},
            {"role": "assistant", "content": "Indeed.", "created_at": "2099-01-01T00:00:00+00:00"},
        ],
    }  # fmt: skip
    (imported,) = await sync_to_async(imports.import_conversations)(user, json.dumps(data).encode())
    imported_chat = Chat(imported, chat.llm)
    await said(imported_chat, "Go on.")
    (found,) = await all_exact(imported_chat)
    assert [part.text for part in found.parts[1:]] == ["Long ago.", "Indeed.", "Go on."]
    assert found.reply.duration_ms is not None and found.reply.duration_ms < 20_000


async def test_a_compressed_conversation_that_was_exported_and_imported_is_recorded_too(
    filled: Conversation, chat: Chat, user: Any
) -> None:
    await chat.compact()
    exported = json.dumps(await sync_to_async(exports.as_json)(chat.conversation)).encode()
    (imported,) = await sync_to_async(imports.import_conversations)(user, exported)
    again = Chat(imported, chat.llm)
    await said(again, "Go on.")
    (found,) = await all_exact(again)
    assert [part.kind for part in found.parts] == ["system", "summary", *["live"] * 5]


async def test_a_request_that_was_too_long_gives_way_to_the_one_that_was_answered(
    filled: Conversation, chat: Chat
) -> None:
    chat.llm.enqueue(status=400, code="context_length_exceeded")
    chat.llm.enqueue("fits now")
    reply = await said(chat, "hello?")
    assert reply.content == "fits now"
    assert len(chat.llm.chats) == 2
    (found,) = await all_exact(chat)
    assert found.parts[1].kind == "summary"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))])
async def test_whatever_is_done_in_whatever_order_every_past_request_is_exact(
    filled: Conversation, chat: Chat, seed: int
) -> None:
    random, conversations = Random(seed), {filled}
    await ModelProfile.objects.aupdate(window=6_000)
    acts = ("compact", "compact", "edit", "regenerate", "restore", "undo", "clear", "protect", "protect", "fork")
    acts += ("use", "use")
    for number in range(16):
        rows = Message.objects.filter(conversation=chat.conversation, replaced_by=None).order_by("-created_at")
        chosen = random.choice([row async for row in rows[: random.choice((4, 12, 40))]])
        with contextlib.suppress(Refused):
            chat = await done(chat, random.choice(acts), chosen, random)
        conversations.add(chat.conversation)
        chat.llm.enqueue(f"reply {number} " + "pad " * 60)
        await said(chat, f"question {number} " + "pad " * 60)
    last = await Message.objects.filter(conversation=chat.conversation, replaced_by=None).alatest("created_at")
    conversations.add((await done(chat, "fork", last, random)).conversation)
    found = [one for each in conversations for one in await all_exact(Chat(each, chat.llm))]
    assert len([one for one in found if one.reply.copy_of is None]) == len(chat.llm.chats) < len(found)


async def test_what_is_gone_is_said(filled: Conversation, chat: Chat) -> None:
    await chat.compact()
    reply = await said(chat, "one")
    await Message.objects.filter(content__startswith="Message 19 ").aupdate(content="Message 19 was changed by hand.")
    found = await replayed(chat, reply)
    assert (found.is_exact, found.gone) == (False, replay.OTHERWISE)
    await Message.objects.filter(content__startswith="Message 19 ").adelete()
    await Checkpoint.objects.all().adelete()
    await Wording.objects.all().adelete()
    found = await replayed(chat, reply)
    assert found.gone == "No longer there: the system prompt, the summary, 1 message."
    assert [part.kind for part in found.parts] == ["live"] * 4


async def test_what_has_no_record_is_refused_with_a_code(filled: Conversation, chat: Chat) -> None:
    for row in [await message(0), await message(1)]:
        with pytest.raises(NotFound) as refused:
            await replayed(chat, row)
        assert refused.value.code == "no_record"


async def test_two_requests_are_compared_by_what_they_say(filled: Conversation, chat: Chat) -> None:
    one, two = await said(chat, "one"), await said(chat, "two")
    before, after = await replayed(chat, one), await replayed(chat, two)
    changes = replay.compare(before, after)
    assert [part.text for part in changes.added] == ["All right.", "two"]
    assert changes.removed == ()
    assert changes.kept == after.parts[:-2]
    assert changes.prefix_tokens == before.total
    await chat.compact()
    three = await replayed(chat, await said(chat, "three"))
    changes = replay.compare(after, three)
    assert [part.kind for part in changes.added] == ["summary", "live", "live"]
    assert len(changes.removed) == len(after.parts) - len(changes.kept) > 10
    assert changes.prefix_tokens == three.parts[0].tokens
    same = replay.compare(three, three)
    assert (same.added, same.removed, same.prefix_tokens) == ((), (), three.total)


async def test_the_figures_of_a_turn_are_kept_with_its_reply(filled: Conversation, chat: Chat) -> None:
    await ModelProfile.objects.aupdate(price_input=Decimal(2), price_output=Decimal(8), price_cached=Decimal(1))
    usage = {"prompt_tokens": 1_000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}}
    chat.llm.enqueue("one two three", usage=usage, delay=0.1, drip=0.05)
    reply = await said(chat, "What does it cost?")
    assert reply.cost_usd == Decimal("0.0018")
    assert reply.saved_tokens == 0
    assert reply.first_token_ms is not None and reply.duration_ms is not None
    assert 100 <= reply.first_token_ms < reply.duration_ms < 10_000
    await ModelProfile.objects.aupdate(price_output=None)
    assert (await said(chat, "And now?")).cost_usd is None


@pytest.mark.parametrize("strategy", ["checkpoints", "rolling", "truncate"])
async def test_saved_are_the_tokens_that_a_summary_stands_for_less_its_own(
    filled: Conversation, chat: Chat, settings: Any, strategy: str
) -> None:
    settings.COMPRESSION_STRATEGY = strategy
    await ModelProfile.objects.aupdate(token_correction=1.1)
    for _ in range(3):
        await chat.compact()
        reply = await chat.say("more " + "pad " * 200)
        await chat.say("yet more " + "pad " * 200)
    await chat.refresh()
    folded = Message.objects.filter(created_at__lte=chat.conversation.compressed_at)
    stood_for = sum([tokens async for tokens in folded.values_list("token_count", flat=True)])
    noted = reply.request
    taken = noted["tokens"]["summary"] + noted["tokens"].get("recalled", 0)
    assert reply.saved_tokens == pytest.approx(stood_for * noted["correction"] - taken, abs=1)


async def test_a_provider_that_makes_its_figures_up_does_not_cost_the_reply(chat: Chat) -> None:
    await ModelProfile.objects.aupdate(price_input=Decimal(999_999), price_output=Decimal(999_999))
    chat.llm.enqueue("kept", usage={"prompt_tokens": 2_000_000_000, "completion_tokens": 2_000_000_000})
    reply = await said(chat, "hello")
    assert (reply.status, reply.content, reply.cost_usd) == ("complete", "kept", Decimal(999_999))


async def test_replies_that_were_stopped_or_failed_are_told_as_far_as_known(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "conversations.messages.replies")
    before = {status: counted(status) for status in ("stopped", "failed")}
    chat.llm.enqueue("one two three four five six", drip=0.1)
    begun = await chat.send("secret zebra")
    while not running_replies.text_so_far(begun.reply):
        await asyncio.sleep(0.01)
    await sync_to_async(stop.stop)(chat.conversation)
    stopped = await chat.ended(begun.reply.pk)
    await told(chat, stopped)
    assert (stopped.prompt_tokens, stopped.cost_usd) == (None, None)
    assert stopped.first_token_ms is not None
    chat.llm.enqueue(status=401)
    failed = await said(chat, "and this?")
    assert (failed.first_token_ms, failed.status) == (None, "failed")
    assert failed.duration_ms is not None
    assert {status: counted(status) - number for status, number in before.items()} == {"stopped": 1, "failed": 1}
    lines = [row for row in caplog.records if row.name == "conversations.messages.replies"]
    assert [(row.reply_id, row.status) for row in lines] == [  # type: ignore[attr-defined]
        (str(stopped.pk), "stopped"), (str(failed.pk), "failed"),
    ]  # fmt: skip
    assert lines[0].conversation_id == str(chat.conversation.pk)  # type: ignore[attr-defined]
    assert not any("zebra" in str(vars(line)) for line in lines)


async def test_a_reply_whose_worker_died_is_counted_too(filled: Conversation, chat: Chat) -> None:
    before = counted("stopped", model="")
    row = await Message.objects.acreate(
        conversation=chat.conversation, role="assistant", status="streaming", content="half",
        created_at=filled.created_at, lease_expires_at=filled.created_at,
    )  # fmt: skip
    assert await sync_to_async(stop._stop_elsewhere)(chat.conversation.pk)
    await row.arefresh_from_db()
    assert (row.status, row.request) == ("stopped", None)
    assert row.duration_ms is not None
    assert counted("stopped", model="") == before + 1


def counted(status: str, *, model: str = "scripted") -> float:
    return REGISTRY.get_sample_value("turn_count_total", {"model": model, "status": status}) or 0.0


def test_noting_a_turn_takes_no_query_once_its_wording_and_summary_are_known(
    filled: Conversation, django_assert_num_queries: Any
) -> None:
    compaction.request(filled, trigger="manual", steering=Steering())
    assert Compaction.objects.get().status == "succeeded"
    loaded = transcript.load(filled.pk)
    sent = request_log.SentRequest(loaded, prompt.assemble(loaded), ModelProfile.objects.get())
    first = request_log.as_columns(sent)
    with django_assert_num_queries(0):
        assert request_log.as_columns(sent) == first
