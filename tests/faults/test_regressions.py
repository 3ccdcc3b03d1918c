"""What other programs' users ran into, each with the public threads where it was told: here it must not happen."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import compaction
from conversations.context import transcript
from conversations.exchange.imports import import_conversations
from conversations.llm import request as llm_request
from conversations.llm.profiles import connect
from conversations.models import Conversation, Message, ModelProfile
from conversations.requests import usage
from tests.conversations.chat import Chat, fill
from tests.conversations.conftest import chat
from tests.llm_answers import summary_of
from tests.llm_server import LlmServer

__all__ = ["chat"]

REASONED = "<think>They want a summary. ## Summary is a heading.</think>"
USELESS = [
    "",
    "   ",
    "I'm sorry, I can't summarise this.",
    REASONED,
    "They talked about ports.",
    "## Summary\n\n## State",
]


MORE = " ".join(f"more of item {number} on port {5000 + number};" for number in range(30))


@pytest.fixture
def filled(conversation: Conversation) -> Conversation:
    fill(conversation, 20)
    return conversation


def automatic(conversation: Conversation) -> Any:
    return Compaction.objects.filter(conversation=conversation, trigger=Compaction.Trigger.AUTO)


async def test_a_summariser_that_never_works_is_asked_three_times_and_once_a_part_and_the_chat_goes_on(
    conversation: Conversation, chat: Chat
) -> None:
    """An endless loop.

    claude-code#24179, opencode#27924, OpenHands#8630, cline#9510, gemini-cli#6563, kilocode#13983.
    """
    await sync_to_async(fill)(conversation, 60)
    chat.llm.enqueue_summary(status=500, times=50)
    for number in range(6):
        assert (await chat.say(f"go on {number}")).status == "complete"
    assert await automatic(conversation).acount() == 1
    assert len(chat.llm.summaries) == 3 + 2, "three parts are under way at once when the first one fails"
    await chat.check()


async def test_a_turn_that_cannot_fit_ends_at_once_and_every_time(conversation: Conversation, chat: Chat) -> None:
    """The same loop where nothing can be saved: each turn tries a bounded number of times, and says so."""
    await sync_to_async(fill)(conversation, 30, words=120, protected=tuple(range(30)))
    for number in range(3):
        reply = await chat.say(f"and now {number}?")
        assert reply.status == "failed"
        assert "does not fit" in reply.error
        assert "protected" in reply.error
    assert chat.llm.chats == []
    assert await Compaction.objects.filter(conversation=conversation).acount() <= 3 * 4


@pytest.mark.parametrize("window", [3_000, 3_500])
async def test_no_request_for_a_summary_overflows_the_summarisers_window(
    conversation: Conversation, chat: Chat, llm: LlmServer, window: int
) -> None:
    """claude-code#8408, codex#13271, gemini-cli#16516, goose#8642."""
    await ModelProfile.objects.acreate(
        name="fast", model_id="fast", base_url=llm.url, api_key="sk", window=window, role="fast", token_correction=1.0
    )
    await sync_to_async(fill)(conversation, 50, words=60)
    await chat.say("and now?")
    assert len(llm.summaries) > 1
    assert all(request.tokens <= window for request in llm.summaries)
    shown = "\n".join(request.text for request in llm.summaries)
    row = await Compaction.objects.aget()
    condensed = Message.objects.filter(conversation=conversation).order_by("created_at")[: row.messages_condensed]
    assert row.summariser == "fast"
    assert all([message.content.split(".")[0] in shown async for message in condensed])


async def test_a_conversation_goes_on_with_a_model_of_a_quarter_of_the_window(
    filled: Conversation, chat: Chat, llm: LlmServer
) -> None:
    """zed#61373."""
    small = await ModelProfile.objects.acreate(
        name="small", model_id="small", base_url=llm.url, api_key="sk", window=1_024, token_correction=1.0
    )
    await chat.say("with the large one")
    await Conversation.objects.aupdate(model=small)
    assert (await chat.say("and with the small one?")).status == "complete"
    assert llm.chats[-1].body["model"] == "small"
    assert llm.chats[-1].tokens <= 1_024 - 256
    await chat.check()


async def test_what_was_finished_is_told_as_finished_after_every_compaction(filled: Conversation, chat: Chat) -> None:
    """A finished task was done again: codex#25686."""
    done = "Done: base backup to /srv/backup (41 GB)"
    chat.llm.enqueue_summary(
        f"## Summary\nThey move alpha.\n\n## State\n- {done}\n\n## Context\n- port = 5433", times=2
    )
    await chat.compact()
    for number in range(8):
        await chat.say(f"step {number} " + "and some words " * 40)
    assert (await chat.compact()).status == "succeeded"
    await chat.say("what is next?")
    assert done in chat.llm.chats[-1].text
    assert "do not do again what it tells as done" not in chat.llm.chats[-1].text  # a small window: the minimal tier
    assert "Say what is finished, so that it is not done again" in chat.llm.summaries[-1].text


async def test_rules_and_system_prompt_stand_word_for_word_after_five_compactions(
    conversation: Conversation, chat: Chat
) -> None:
    """Instructions lost: open-webui#26710, codex#25792, arXiv 2606.22528."""
    await Conversation.objects.aupdate(system_prompt="You are Ada. Sign every answer with ✒.")
    await chat.refresh()
    await chat.say("Never restart alpha on Fridays.")
    for _ in range(5):
        for number in range(6):
            await chat.say(f"step {number} " + "and some words " * 40)
        assert (await chat.compact()).status == "succeeded"
        await Compaction.objects.aupdate(trigger=Compaction.Trigger.AHEAD)  # no limit by the minute
    await chat.say("which rules?")
    system = chat.llm.chats[-1].messages[0]["content"]
    assert "You are Ada. Sign every answer with ✒." in system
    assert "- Never restart alpha on Fridays" in system
    await chat.check()


async def test_the_kept_tail_is_still_there_many_turns_later(filled: Conversation, chat: Chat) -> None:
    """open-webui#27037."""
    await chat.compact()
    tail = [row.content async for row in Message.objects.order_by("-created_at")[:4]]
    for number in range(3):
        await chat.say(f"turn {number}")
        assert all(content in chat.llm.chats[-1].text for content in tail)


async def test_what_is_shown_as_used_is_what_is_sent(filled: Conversation, chat: Chat) -> None:
    """Miscounts, that fire at half or never: open-webui#28590."""
    await chat.compact()
    await chat.say("<|endoftext|> counts as text 数")
    used = await sync_to_async(usage.usage_of_conversation)(chat.conversation)
    reply = await Message.objects.order_by("-created_at").afirst()
    assert used is not None and reply is not None
    assert used.total - reply.token_count == chat.llm.chats[-1].tokens
    assert used.total - reply.token_count == reply.prompt_tokens


@pytest.mark.parametrize("words", [40, 400])
async def test_after_a_compaction_it_is_half_empty_and_rests_for_many_turns(
    conversation: Conversation, chat: Chat, words: int, settings: Any
) -> None:
    """Kept by number of messages, it compresses at every turn: open-webui#30035, codex#35032."""
    settings.COMPRESSION_COOLDOWN_SECONDS = 0
    await sync_to_async(fill)(conversation, 60 if words == 40 else 8, words=words)
    await chat.say("now it folds")
    used = await sync_to_async(usage.usage_of_conversation)(chat.conversation)
    assert used is not None and used.ratio <= 0.5
    for number in range(5):
        await chat.say(f"a short question {number}")
    assert await automatic(conversation).acount() == 1


async def test_a_summary_that_takes_long_holds_up_that_turn_alone(
    filled: Conversation, chat: Chat, llm: LlmServer, settings: Any
) -> None:
    """A page that is blocked for minutes: claude-code#11894. The time-out bounds it, and the fallback chain goes on."""
    settings.MODEL_TIMEOUT_SECONDS = 0.3
    llm.summary_takes(seconds=30)
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    assert row.duration_ms < 10_000
    assert (await chat.say("go on")).status == "complete"


async def test_what_is_said_while_it_compresses_is_in_the_next_request(
    filled: Conversation, chat: Chat, llm: LlmServer
) -> None:
    """pi#179, openclaw#35522, openclaw#117810."""
    llm.summary_takes(seconds=0.3)
    row = await chat.start_compaction()
    reply = await chat.say("the port is 6543 now")
    await chat.compacted(row.pk)
    assert reply.status == "complete"
    assert "the port is 6543 now" in llm.chats[-1].text
    await chat.check()


@pytest.mark.parametrize("words", USELESS)
async def test_useless_words_never_take_the_place_of_history(filled: Conversation, chat: Chat, words: str) -> None:
    """47 % of 164 were empty: odysseus#2160, gsd-pi#109, open-webui#29308, openclaw#120663."""
    if words:
        chat.llm.enqueue_summary(words, times=3)
    else:
        chat.llm.enqueue_summary(fault="null", times=3)
    row = await chat.compact()
    assert (row.status, row.summariser) == ("succeeded", "extractive")
    assert [step["summariser"] for step in row.steps] == ["scripted"]
    assert "Message 3" in chat.conversation.compressed_context or "5003" in chat.conversation.compressed_context
    await chat.say("and now?")
    await chat.check()


async def test_one_summary_stands_for_the_past_however_many_ask_for_it(filled: Conversation, chat: Chat) -> None:
    """Triplicate summaries, superseded writers: thane-ai-agent#1168, openclaw#127551, opencode PR#47178."""
    chat.llm.summary_takes(seconds=0.1)
    first = await chat.start_compaction()
    for _ in range(3):
        with pytest.raises(Exception, match="already being compacted"):
            await chat.start_compaction()
    await chat.compacted(first.pk)
    assert await Checkpoint.objects.filter(active=True).acount() == 1
    await chat.say("and now?")
    assert sum(text["content"].startswith("[Compressed") for text in chat.llm.chats[-1].messages) == 1


def test_messages_of_one_and_the_same_moment_are_all_there(user: Any, profile: ModelProfile) -> None:
    """Equal timestamps were skipped: claude-gateway#214."""
    moment = "2026-01-05T09:00:00+00:00"
    lines = [
        {"role": ("user", "assistant")[number % 2], "content": f"line {number} " + "word " * 40, "created_at": moment}
        for number in range(30)
    ]
    (row,) = import_conversations(user, json.dumps({"title": "t", "messages": lines}).encode())
    dates = list(Message.objects.filter(conversation=row).order_by("created_at").values_list("created_at", flat=True))
    assert len(set(dates)) == 30
    done = compaction.request(row, trigger="manual", steering=compaction.Steering())
    done.refresh_from_db()
    row.refresh_from_db()
    assert done.status == "succeeded", done.error
    live = transcript.load(row.pk).live
    assert done.messages_condensed + len(live) == 30


async def test_a_compaction_is_seen_undone_and_keeps_to_the_conversations_language(
    conversation: Conversation, chat: Chat
) -> None:
    """No undo, invisible, and English from then on: opencode#32368, open-webui#26199, opencode#20156."""
    for number in range(9):
        await chat.say(f"Шаг {number}: сервис alpha слушает порт {5000 + number}. " + "И ещё немного слов. " * 12)
    chat.llm.enqueue_summary(status=401, times=3)
    row = await chat.compact()
    assert row.status == "succeeded", row.error
    assert "порт" in chat.conversation.compressed_context
    await chat.say("Какой порт?")
    request = chat.llm.chats[-1]
    assert "Answer in the language of the person" in request.messages[0]["content"]
    assert "Write in the language of the conversation" in chat.llm.summaries[-1].text
    assert row.pre_tokens > row.post_tokens and row.facts_found
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    assert chat.conversation.compressed_context is None


async def test_a_compaction_says_what_it_cost_and_what_was_undone_is_asked_for_anew(
    filled: Conversation, chat: Chat
) -> None:
    """Surprises on the bill: claude-code#79793."""
    await ModelProfile.objects.aupdate(price_input=1, price_output=2)
    row = await chat.compact()
    assert row.prompt_tokens and row.completion_tokens and row.cost_usd
    asked = len(chat.llm.summaries)
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    anew = await chat.compact()
    assert len(chat.llm.summaries) > asked
    assert anew.prompt_tokens and anew.cost_usd


async def test_paths_numbers_and_commands_survive_a_summary_that_forgets_them(
    conversation: Conversation, chat: Chat
) -> None:
    """Of 43 real compactions 9.8 % of paths survived, 1.9 % of numbers, 0.2 % of commands: deja-vu#543."""
    facts = ("/srv/backup/billing", "deploy/alpha.yaml", "41 GB", "kubectl drain node-3", "2026-03-14")
    for fact in facts:
        await chat.say(f"Note this: `{fact}`. " + "We talked about other things for a while. " * 24)
    chat.llm.default_summary = lambda request: summary_of(request).replace("They began with", "Something")
    row = await chat.compact(keep_recent=0)
    assert row.status == "succeeded", row.error
    context = chat.conversation.compressed_context
    assert [fact for fact in facts if fact not in context] == []
    assert row.facts_repaired


async def test_the_breaker_opens_for_one_trial_and_closes_when_that_works(filled: Conversation, chat: Chat) -> None:
    """A breaker that never reopens: openclaude PR#1397."""
    for _ in range(3):
        await chat.say(MORE)
        await chat.say(MORE)
        chat.llm.enqueue_summary(status=401)
        row = await chat.compact(keep_recent=0)
        assert row.summariser == "extractive", row.steps
    asked = len(chat.llm.summaries)
    await chat.say(MORE)
    await chat.say(MORE)
    row = await chat.compact(keep_recent=0)
    assert row.summariser == "extractive", row.steps
    assert len(chat.llm.summaries) == asked
    async for row in Compaction.objects.all():
        await Compaction.objects.filter(pk=row.pk).aupdate(finished_at=row.finished_at - timedelta(minutes=6))
    await chat.say(MORE)
    await chat.say(MORE)
    assert (await chat.compact(keep_recent=0)).summariser == "scripted"
    await chat.say(MORE)
    await chat.say(MORE)
    assert (await chat.compact(keep_recent=0)).summariser == "scripted"


async def test_a_snapshot_is_never_sent(filled: Conversation, chat: Chat) -> None:
    """A state of before in a request: only what was assembled can be sent."""
    await chat.compact()
    snapshot = await Snapshot.objects.afirst()
    profile = await ModelProfile.objects.afirst()
    assert profile is not None
    for thing in (snapshot, transcript.load, [{"role": "user", "content": "all of it"}]):
        with pytest.raises(llm_request.StorageBoundaryError):
            async for _ in connect(profile).stream(thing):
                pass


async def test_a_summary_that_flips_to_english_gives_way_to_one_in_the_conversations_language(
    conversation: Conversation, chat: Chat
) -> None:
    """The replies would flip after it: opencode#20156. A person may still ask for another language."""
    for number in range(12):
        await chat.say(f"Шаг {number}: сервис alpha слушает порт {5000 + number}. " + "И ещё немного слов. " * 12)
    told = "They moved the service and it is on the port that was agreed with the team. " * 3
    flipped = f"## Summary\n{told}\n\n## State\n-"
    chat.llm.enqueue_summary(flipped, times=9)
    row = await chat.compact()
    assert row.summariser == "extractive"
    assert "another language" in row.steps[0]["failed"]
    assert "порт" in (chat.conversation.compressed_context or "")
    await chat.say("Дальше.")
    await chat.check()
    await sync_to_async(compaction.undo)(chat.conversation, row.pk)
    asked = await chat.compact(instructions="in English please")
    assert asked.summariser == "scripted"
