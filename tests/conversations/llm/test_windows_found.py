"""A server that silently drops the front of requests is noticed, told, and never asked beyond what it reads."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given
from hypothesis import strategies as st

from conversations.llm import canary
from conversations.llm.port import Delta
from conversations.llm.probes import window_probe, window_reports
from conversations.llm.request import Prompt
from conversations.llm.windows import window_words
from conversations.llm.windows.window_evidence import Report, WindowEvidence, judged
from conversations.models import Conversation, Message, ModelProfile
from conversations.page.meter import meter
from tests import llm_windows
from tests.conversations.chat import Chat, fill

pytestmark = pytest.mark.once

Source = ModelProfile.WindowSource


@pytest.fixture
async def own(chat: Chat) -> Chat:
    """A chat with a model whose window nobody named."""
    await ModelProfile.objects.aupdate(window=16_000, window_source=Source.DEFAULT)
    return chat


async def profile_of(chat: Chat) -> ModelProfile:
    return await ModelProfile.objects.aget(pk=chat.conversation.model_id)


@pytest.mark.parametrize("halves", [True, False])
@pytest.mark.parametrize("source", [Source.DEFAULT, Source.HAND, Source.NAME])
async def test_a_server_that_drops_the_front_and_counts_the_rest_is_noticed_within_two_requests(
    own: Chat, caplog: pytest.LogCaptureFixture, halves: bool, source: str
) -> None:
    await ModelProfile.objects.aupdate(window_source=source)
    own.llm.reads, own.llm.half_of_long = 4_096, halves
    await sync_to_async(fill)(own.conversation, 60, words=40)
    with caplog.at_level(logging.WARNING):
        await own.say("first question")
        await own.idle()
        await own.say("second question")
        await own.idle()
    assert own.llm.chats[-1].tokens > 4_096, "both requests were too long for the server"
    profile = await profile_of(own)
    assert profile.window_source == "counted" and profile.window_replaced == 16_000
    if source == Source.HAND:
        assert profile.window == 8_000, "a window set by hand is not lowered below its half"
        assert f"only {4_096 // 2 + 2 if halves else 4_096:,} tokens" in window_words.lowered(profile)
        return
    assert 1_024 <= profile.window <= 4_096
    (warning,) = [record for record in caplog.records if "smaller than it was set" in record.getMessage()]
    assert warning.model == "scripted" and warning.window == profile.window  # type: ignore[attr-defined]
    seen = len(own.llm.chats)
    for number in range(3):
        await own.say(f"question {number}")
    assert all(request.tokens <= profile.window for request in own.llm.chats[seen:])
    await own.check()
    await own.refresh()
    shown = await sync_to_async(lambda: meter(type(own.conversation).objects.get(pk=own.conversation.pk)))()
    assert shown and f"reads {profile.window:,} tokens, not 16,000" in shown.lowered


async def test_the_server_itself_is_asked_as_soon_as_it_counts_too_few(own: Chat) -> None:
    await ModelProfile.objects.aupdate(window_source=Source.HAND)
    own.llm.reads, own.llm.half_of_long = 4_096, True
    own.llm.facts = llm_windows.ollama("scripted", loaded=4_096)
    await sync_to_async(fill)(own.conversation, 60, words=40)
    await own.say("first question")
    await own.idle()
    profile = await profile_of(own)
    assert (profile.window, profile.window_source, profile.window_replaced) == (4_096, "asked", 16_000)
    await own.say("second question")
    assert own.llm.chats[-1].tokens <= 4_096


async def test_a_server_that_reads_all_is_left_alone(own: Chat) -> None:
    await sync_to_async(fill)(own.conversation, 60, words=40)
    for number in range(3):
        await own.say(f"question {number}")
    profile = await profile_of(own)
    assert (profile.window, profile.window_source, profile.window_replaced) == (16_000, "default", None)


async def test_a_window_is_asked_for_once_after_the_first_reply_when_the_model_is_loaded(own: Chat) -> None:
    own.llm.facts = llm_windows.ollama("scripted", loaded=12_000)
    await own.say("hello")
    await own.idle()
    assert ((await profile_of(own)).window, own.llm.asked.count("/api/ps")) == (12_000, 1)
    await own.say("hello again")
    await own.idle()
    assert own.llm.asked.count("/api/ps") == 1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "many"}])
async def test_a_server_that_drops_and_counts_nothing_is_found_by_the_mark(own: Chat, usage: Any) -> None:
    await ModelProfile.objects.aupdate(window=8_192)
    own.llm.default = replace(own.llm.default, usage=usage)
    own.llm.reads = 3_000
    await own.say("short")
    assert canary.WORDS.split("{")[0] in own.llm.chats[-1].text
    await sync_to_async(fill)(own.conversation, 40, words=40)
    for question in ("first", "second"):
        await own.say(question)
        await own.idle()
    profile = await profile_of(own)
    assert (profile.window_source, profile.window_replaced) == ("mark", 8_192) and profile.window <= 3_000
    before = len(own.llm.chats)
    await own.say("third")
    assert all(request.tokens <= 3_000 for request in own.llm.chats[before:])
    texts = [row async for row in Message.objects.values_list("content", flat=True)]
    assert not any(canary.mark_of("scripted") in text for text in texts)


async def test_a_model_that_never_repeats_the_mark_is_no_longer_asked_to(own: Chat) -> None:
    own.llm.default, own.llm.repeats = replace(own.llm.default, usage=None), False
    for number in range(3):
        await own.say(f"question {number}")
        await own.idle()
    profile = await profile_of(own)
    assert (profile.window, profile.window_evidence) == (16_000, {"deaf": True})
    await own.say("one more")
    assert "the mark" not in own.llm.chats[-1].text


async def test_there_is_no_mark_where_the_window_is_known_or_tokens_are_counted(own: Chat) -> None:
    await own.say("first")
    await own.say("second")
    assert "the mark" in own.llm.chats[0].text and "the mark" not in own.llm.chats[1].text
    await ModelProfile.objects.aupdate(window_source=Source.HAND, window_evidence={})
    await own.say("third")
    assert "the mark" not in own.llm.chats[-1].text


async def test_marked_requests_begin_alike_and_what_is_stored_is_without_it(own: Chat) -> None:
    own.llm.default = replace(own.llm.default, usage=None)
    await own.say("first")
    reply = await own.say("second")
    one, two = (request.messages for request in own.llm.chats[-2:])
    assert two[: len(one)] == one and reply.content == "All right."


@pytest.mark.parametrize("source", [Source.HAND, Source.DEFAULT])
async def test_requests_that_a_server_counts_low_on_purpose_lower_nothing(own: Chat, source: str) -> None:
    await ModelProfile.objects.aupdate(window=8_192, window_source=source)
    for estimated in (3_000, 4_000, 4_200, 4_400):
        profile = await profile_of(own)
        await sync_to_async(window_reports.learn)(profile, 1, thread="script", estimated=estimated, reported=600)
        await own.idle()
    now = await profile_of(own)
    assert (now.window, now.window_source) == (8_192, source)
    sent = [chat.text for chat in own.llm.chats]
    assert len(sent) == 2 and all("only for its length" in text for text in sent), "the site asked for itself, once"


@pytest.mark.parametrize("source", [Source.HAND, Source.DEFAULT])
async def test_a_server_that_ends_two_replies_at_the_same_sum_is_checked_and_has_that_window(
    own: Chat, source: str
) -> None:
    await ModelProfile.objects.aupdate(window_source=source)
    own.llm.ends_at, own.llm.default = 9_000, replace(own.llm.default, text="word " * 9_000)
    await own.say("Write on.")
    await own.idle()
    assert (await profile_of(own)).window == 16_000, "one reply that ends early proves nothing"
    own.conversation = await Conversation.objects.acreate(
        owner_id=own.conversation.owner_id, model_id=own.conversation.model_id
    )
    await own.say("Write on, in another conversation.")
    await own.idle()
    profile = await profile_of(own)
    assert (profile.window, profile.window_source, profile.window_replaced) == (9_000, "counted", 16_000)


async def test_replies_that_end_at_the_same_sum_for_another_reason_lower_nothing(own: Chat) -> None:
    for prompt in (2_000, 2_500):
        profile = await profile_of(own)
        await sync_to_async(window_reports.learn_end)(profile, prompt=prompt, completion=3_000 - prompt)
        await own.idle()
    now = await profile_of(own)
    assert now.window == 16_000 and now.window_evidence["read"] >= 3_000, "the site saw longer requests read whole"


async def test_a_window_that_was_found_below_the_half_of_one_set_by_hand_is_not_checked_again(own: Chat) -> None:
    await ModelProfile.objects.aupdate(window_source=Source.HAND)
    own.llm.ends_at = 3_000
    for prompt in (1_000, 1_500, 1_200, 1_700):
        profile = await profile_of(own)
        await sync_to_async(window_reports.learn_end)(profile, prompt=prompt, completion=3_000 - prompt)
        await own.idle()
    assert (await profile_of(own)).window == 8_000
    assert len(own.llm.chats) == 2, "one check is two requests"


async def test_one_reply_that_ended_early_names_no_window_when_another_check_is_refused(own: Chat) -> None:
    own.llm.ends_at = 12_000
    profile = await profile_of(own)
    await sync_to_async(window_reports.learn_end)(profile, prompt=2_000, completion=1_000)
    await window_probe.check(profile.pk, 14_000)
    assert (await profile_of(own)).window == 16_000, "the reply ended for a reason of its own"


async def test_a_model_that_only_thinks_within_the_limit_of_a_check_is_checked_by_its_counts(own: Chat) -> None:
    await own.say("short")
    own.llm.default = replace(own.llm.default, text="", thoughts="Hm.", finish_reason="length")
    profile = await profile_of(own)
    own.llm.reads = 3_000
    await window_probe.check(profile.pk, 14_000)
    now = await profile_of(own)
    assert now.window_source == "counted" and now.window <= 3_000


async def test_a_mark_that_a_person_has_the_model_write_hides_nothing_from_others(own: Chat) -> None:
    await ModelProfile.objects.aupdate(window=8_192)
    own.llm.default = replace(own.llm.default, usage=None)
    own.llm.reads = 3_000
    profile = await profile_of(own)
    for _ in range(2):
        await sync_to_async(window_reports.learn_mark)(profile, 1, estimated=7_000, heard=True)
        await sync_to_async(window_reports.learn_mark)(profile, 2, estimated=5_000, heard=False)
    await own.idle()
    now = await profile_of(own)
    assert now.window_source == "mark" and now.window <= 3_000


def test_counts_that_exclude_what_a_cache_had_do_not_lower_a_window() -> None:
    evidence = WindowEvidence()
    for estimated, reported in [(3_000, 3_000), (3_400, 600), (3_800, 700), (6_000, 900)]:
        evidence, _ = judged(evidence, Report("a", estimated, reported), correction=1.0, is_learned=True)
    assert evidence.window is None


def test_two_counts_in_a_row_prove_a_window_and_one_does_not() -> None:
    first, learnable = judged(WindowEvidence(), Report("a", 8_000, 2_050), correction=1.0, is_learned=False)
    assert first.window is None and not learnable
    second, _ = judged(first, Report("b", 8_100, 2_050), correction=1.0, is_learned=False)
    assert second.window == 2_050
    between, learnable = judged(first, Report("b", 2_000, 2_000), correction=1.0, is_learned=False)
    assert learnable and between.low == ()


@given(
    st.lists(st.tuples(st.integers(-5, 200_000), st.floats(0.75, 1.9)), max_size=30),
    st.floats(0.75, 1.25),
)
def test_a_tokeniser_alone_never_lowers_a_window(requests: list[tuple[int, float]], correction: float) -> None:
    """Counts of different texts, each between three quarters and almost twice ours, prove nothing."""
    evidence = WindowEvidence()
    for number, (estimated, factor) in enumerate(requests):
        report = Report(number, estimated, round(estimated * factor))
        evidence, _ = judged(evidence, report, correction=correction, is_learned=True)
        assert evidence.window is None


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(0, 12), st.integers(1, 5))
def test_the_mark_is_taken_out_of_any_pieces(pieces: list[str], place: int, size: int) -> None:
    mark = canary.mark_of("m")
    spoken = "".join(pieces)
    text = spoken[:place] + mark + spoken[place:]
    listener, heard = canary.Listener(mark), []
    for start in range(0, len(text), size):
        heard.append(listener.take(Delta(text[start : start + size])))
    heard.append(listener.take(Delta(finish_reason="stop")))
    said = "".join(delta.text for delta in heard)
    assert heard[-1].heard and mark not in said and said.strip() == spoken.replace(mark, "").strip()


def test_without_the_mark_every_character_comes_through() -> None:
    listener = canary.Listener("[[abc]]")
    pieces = [listener.take(Delta(piece)).text for piece in (" ", "[", "[ab", "x]] [[", "abd")]
    last = listener.take(Delta(finish_reason="stop"))
    assert "".join([*pieces, last.text]) == " [[abx]] [[abd" and last.heard is False


def test_a_prompt_without_system_message_gets_one() -> None:
    marked = canary.marked(Prompt(({"role": "user", "content": "hi"},)), "[[abc]]")
    assert [message["role"] for message in marked.messages] == ["system", "user"]
