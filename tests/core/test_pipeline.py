"""The pipeline over random transcripts: what must always be true, whatever a summariser writes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.context import MARKER, render_context
from compression.core.digest import extend_digest
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.pipeline import compact
from compression.core.plan.policy import PRESETS, STRATEGIES, Policy, Strategy
from compression.core.ports import Originals, no_originals
from compression.core.tokens import count_tokens
from compression.core.truncation import Truncation
from compression.core.values import Draft, Passage, Steering, SummariserOutput, ToolUse, Transcript, Turn, Window
from tests.core.conversations import split_at_cut

START = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = "## Summary\nThey talked.\n\n## Decisions\n-\n\n## Files\n-\n\n## State\n- Done: all\n\n## Context\n-"


@dataclass
class Scripted:
    """Writes what it is told to, and remembers what it was shown."""

    text: str = GOOD
    finished: bool = True
    window: int | None = None
    name: str = "scripted"
    provisional: bool = False
    fills_budget: bool = False
    marks_progress: bool = False

    def __post_init__(self) -> None:
        self.shown: list[Passage] = []

    async def summarise(self, passage: Passage) -> SummariserOutput:
        self.shown.append(passage)
        return SummariserOutput(self.text, finished=self.finished)


async def nobody(stage: str, percent: int) -> None:
    assert 0 <= percent < 100


def run(
    transcript: Transcript,
    summariser: object = None,
    policy: Policy | None = None,
    originals: Originals = no_originals,
    **steering: object,
) -> Draft:
    return asyncio.run(
        compact(
            transcript,
            policy or Policy(),
            steering=Steering(**steering),  # type: ignore[arg-type]
            summariser=summariser or Scripted(),  # type: ignore[arg-type]
            count=count_tokens,
            on_stage=nobody,
            originals=originals,
        )
    )


def turn(number: int, *, role: str = "user", content: str = "", tokens: int = 0, **more: object) -> Turn:
    content = content or f"message {number} about port {5000 + number} " + "and so on " * 20
    return Turn(
        str(number), role, content, START + timedelta(seconds=number), tokens or count_tokens(content) + 4, **more
    )  # type: ignore[arg-type]


def talk(count: int, **more: object) -> tuple[Turn, ...]:
    return tuple(turn(number, role=("user", "assistant")[number % 2], **more) for number in range(count))


def transcript_of(turns: tuple[Turn, ...], *, window: int = 4_000, **more: object) -> Transcript:
    return Transcript(turns=turns, window=Window(window, min(1_000, window // 4)), **more)  # type: ignore[arg-type]


words = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)
tools = st.lists(
    st.builds(ToolUse, call_id=st.just("c"), name=st.just("grep"), arguments=words, result=st.none() | words),
    max_size=2,
)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    gaps = draw(st.lists(st.integers(1, 90_000_000), min_size=1, max_size=40))
    turns = []
    for number, micros in enumerate(accumulate(gaps)):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        content = draw(words) * draw(st.sampled_from([1, 1, 1, 10]))
        uses = tuple(draw(tools)) if role == "assistant" else ()
        cost = count_tokens(content) + 4 + sum(count_tokens(use.arguments + (use.result or "")) + 8 for use in uses)
        turns.append(
            Turn(str(number), role, content, START + timedelta(microseconds=micros), cost, tools=uses,
                 protected=draw(st.sampled_from([False] * 5 + [True])))
        )  # fmt: skip
    waiting = int(turns[-1].role == "user")
    return transcript_of(tuple(turns), window=draw(st.sampled_from([1_024, 4_000, 16_000])), waiting=waiting)


def still_sent(before: Transcript, draft: Draft) -> tuple[Turn, ...]:
    """What loading the new state gives: the kept messages by id, and everything after the cut by timestamp."""
    kept = tuple(turn for turn in before.turns if turn.id in draft.verbatim_ids)
    return kept + split_at_cut(before.turns, draft.cut)[1]


def assert_represented(before: Transcript, draft: Draft) -> None:
    """I1: a message is condensed or verbatim, never both, and what filtering by the cut gives agrees with the draft."""
    assert draft.cut is not None
    sent = still_sent(before, draft)
    condensed = {turn.id for turn in draft.condensed}
    assert condensed.isdisjoint(turn.id for turn in sent)
    assert condensed | {turn.id for turn in sent} == {turn.id for turn in before.turns}
    assert not any(turn.protected for turn in draft.condensed)


@settings(max_examples=150, deadline=None)
@given(transcripts(), st.sampled_from(["scripted", "extractive", "truncation"]), st.sampled_from(STRATEGIES))
def test_every_message_is_condensed_or_verbatim_and_the_context_shrinks(
    before: Transcript, who: str, strategy: Strategy
) -> None:
    summariser = {"scripted": Scripted(), "extractive": Extractive(), "truncation": Truncation()}[who]
    try:
        draft = run(before, summariser, Policy(strategy=strategy))
    except (CompactionSkipped, CompactionFailed):
        return
    assert_represented(before, draft)
    assert draft.before is not None and draft.after is not None
    assert draft.after.total < draft.before.total
    assert draft.context == render_context(draft.checkpoints)
    assert draft.checkpoints[-1].digest == extend_digest(before.digest, split_at_cut(before.turns, draft.cut)[0])
    groups_cut = split_at_cut(before.turns, draft.cut)[1][:1]
    assert not groups_cut or groups_cut[0].role != "tool" or groups_cut[0].protected


@settings(max_examples=150, deadline=None)
@given(st.lists(transcripts(), min_size=1, max_size=1), words, st.booleans())
def test_no_words_of_a_summariser_replace_history_unless_they_are_a_summary(
    before: list[Transcript], text: str, finished: bool
) -> None:
    """I6: random text, whole or cut off, is refused."""
    with pytest.raises((CompactionSkipped, CompactionFailed)):
        run(before[0], Scripted(text, finished))


@settings(max_examples=60, deadline=None)
@given(transcripts(), transcripts(), st.sampled_from(STRATEGIES))
def test_a_second_compaction_starts_where_the_first_one_ended(
    first: Transcript, more: Transcript, strategy: Strategy
) -> None:
    policy = Policy(strategy=strategy)
    try:
        draft = run(first, Extractive(), policy)
        later = [
            replace(turn, id=f"later-{turn.id}", created_at=turn.created_at + timedelta(days=400))
            for turn in more.turns
        ]
        second = Transcript(
            turns=still_sent(first, draft) + tuple(later),
            window=first.window,
            context_tokens=draft.context_tokens,
            checkpoints=draft.checkpoints,
            cut=draft.cut,
        )
        again = run(second, Extractive(), policy)
    except (CompactionSkipped, CompactionFailed):
        return
    assert_represented(second, again)
    assert draft.cut is not None and again.cut is not None and again.cut >= draft.cut
    covered = sum(one.original_tokens for one in again.checkpoints)
    assert covered == draft.condensed_tokens + again.condensed_tokens
    assert again.checkpoints[-1].digest == extend_digest("", split_at_cut(first.turns + tuple(later), again.cut)[0])


def test_the_last_four_are_kept_and_the_cut_is_the_last_condensed_message() -> None:
    draft = run(transcript_of(talk(20)))
    assert [turn.id for turn in draft.tail] == ["16", "17", "18", "19"]
    assert draft.cut == draft.condensed[-1].created_at == START + timedelta(seconds=15)


def test_the_message_that_waits_for_its_answer_is_beyond_the_four() -> None:
    draft = run(transcript_of(talk(21), waiting=1))
    assert [turn.id for turn in draft.tail] == ["16", "17", "18", "19", "20"]


def test_the_tail_begins_with_a_persons_words_where_they_are_near() -> None:
    draft = run(transcript_of(talk(19)))
    assert [turn.id for turn in draft.tail] == ["14", "15", "16", "17", "18"]


def test_big_messages_shrink_the_tail_to_come_out_at_the_target() -> None:
    turns = (*talk(16), *(turn(16 + n, role=("user", "assistant")[n % 2], tokens=900) for n in range(4)))
    draft = run(transcript_of(turns))
    assert len(draft.tail) == 1
    assert draft.after is not None and draft.after.ratio <= 0.5


def test_over_the_budget_even_the_last_message_goes() -> None:
    draft = run(transcript_of((*talk(2), turn(2, content="x y z " * 1_200))))
    assert draft.tail == ()
    assert draft.after is not None and not draft.after.over_budget


def test_a_tool_result_stays_with_its_call() -> None:
    turns = list(talk(20))
    for number in (16, 17):
        turns[number] = turn(number, role="tool")
    draft = run(transcript_of(tuple(turns)))
    assert draft.tail[0].role != "tool"


def test_too_few_messages_are_skipped() -> None:
    with pytest.raises(CompactionSkipped, match="at least 3"):
        run(transcript_of(talk(6)))


def test_short_messages_are_skipped_because_a_summary_would_be_longer() -> None:
    with pytest.raises(CompactionSkipped, match="would not be smaller"):
        run(transcript_of(tuple(turn(number, content="ok") for number in range(12))))


def test_up_to_a_message_that_is_not_there_fails_by_name() -> None:
    with pytest.raises(CompactionFailed, match="up_to"):
        run(transcript_of(talk(20)), up_to="nowhere")


def test_the_context_is_framed_as_a_record() -> None:
    draft = run(transcript_of(talk(20)))
    assert draft.context.startswith(f"{MARKER}\n\n# Conversation Summary\n\n")
    assert "no instructions" in draft.context


def test_missing_facts_are_repaired_word_for_word_and_counted() -> None:
    turns = (turn(0, content="Never restart alpha on Fridays. It logs to /var/log/alpha. " * 3), *talk(21)[1:])
    draft = run(transcript_of(turns))
    assert "## Kept facts" in draft.summary
    assert "/var/log/alpha" in draft.context
    assert draft.retention.repaired > 0
    assert draft.retention.kept <= draft.retention.found


def test_a_summary_that_is_too_long_is_trimmed_to_what_was_asked() -> None:
    long = GOOD + "".join(f"\n- note {number} about port {number}" for number in range(900))
    draft = run(transcript_of(talk(30), window=16_000), Scripted(long))
    assert count_tokens(draft.summary) <= draft.max_tokens * 1.25


def test_reasoning_and_chatter_before_the_headings_are_removed() -> None:
    draft = run(transcript_of(talk(20)), Scripted(f"<think>hm, what now?</think>Sure, here it is:\n{GOOD}"))
    assert draft.summary.startswith("## Summary")
    assert "hm, what now" not in draft.context


def test_headings_of_another_style_are_made_ours() -> None:
    draft = run(transcript_of(talk(20)), Scripted("**Summary**\nThey talked.\n\n### State:\n- Done: all"))
    assert draft.summary.startswith("## Summary\nThey talked.")
    assert "## State\n" in draft.summary


def test_a_small_summariser_is_shown_everything_in_passages_that_fit() -> None:
    giant = turn(5, content=" ".join(f"word{number}" for number in range(3_000)))
    turns = (*talk(5), giant, *talk(30)[6:])
    summariser = Scripted(window=4_000)
    run(transcript_of(turns, window=32_000), summariser)
    shown = " ".join(passage.text for passage in summariser.shown)
    assert all(f"word{number}" in shown for number in range(3_000))
    assert all(count_tokens(passage.text) < 4_000 for passage in summariser.shown)
    assert GOOD in summariser.shown[-1].text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("<think>only thought", "empty"),
        ("I can't help with that.", "refused"),
        ("A plain paragraph.", "headings"),
        ("## Summary\n-\n\n## State\n-", "nothing under"),
    ],
)
def test_a_bad_summary_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(CompactionFailed, match=reason):
        run(transcript_of(talk(20)), Scripted(text))


def test_a_persons_latest_words_stay_verbatim_up_to_the_policys_tokens() -> None:
    turns = talk(40)
    own = [turn for turn in turns[:36] if turn.role == "user"]
    draft = run(transcript_of(turns), policy=Policy(keep_user_tokens=own[0].tokens * 3 + 5))
    assert [turn.id for turn in draft.kept] == [turn.id for turn in own[-3:]]
    assert {turn.id for turn in draft.condensed} == {turn.id for turn in turns[:36]} - {turn.id for turn in own[-3:]}
    assert set(draft.verbatim_ids) == {turn.id for turn in own[-3:] if draft.cut and turn.created_at <= draft.cut}


def test_all_of_a_persons_words_stay_as_far_as_the_target_has_room() -> None:
    turns = talk(40)
    everything = run(transcript_of(turns, window=60_000), policy=Policy(keep_user_tokens="all"))
    assert {turn.role for turn in everything.condensed} == {"assistant"}
    tight = run(transcript_of(turns, window=3_000), policy=Policy(keep_user_tokens="all"))
    assert tight.after is not None
    assert tight.after.total <= 1_500
    assert {turn.role for turn in tight.condensed} == {"user", "assistant"}


def test_what_was_kept_of_a_persons_words_is_condensed_by_the_next_compaction() -> None:
    first = run(transcript_of(talk(20), window=60_000), policy=Policy(keep_user_tokens="all"))
    kept = tuple(turn for turn in first.kept + first.tail)
    later = talk(40)[20:]
    second = run(
        replace(
            transcript_of(kept + later, window=60_000),
            checkpoints=(replace(first.checkpoints[-1], number=1),),
            cut=first.cut,
            context_tokens=first.context_tokens,
        )
    )
    assert {turn.id for turn in kept} <= {turn.id for turn in second.condensed}


def test_a_flows_tail_leaves_room_for_the_summary_in_its_own_history() -> None:
    draft = run(transcript_of(talk(12), window=60_000), policy=Policy(**PRESETS["executor"]))
    assert sum(turn.tokens for turn in draft.tail) <= 500
    assert len(draft.tail) < 12


def test_marks_of_the_goal_are_the_summarisers_own_and_leave_the_summary() -> None:
    marked = f"{GOOD}\n- ports=5000\n[CHECKPOINT] Move the tables - COMPLETED\n"
    told = run(replace(transcript_of(talk(20)), goal="Move"), Scripted(marked, marks_progress=True))
    assert [step.text for step in told.marks.checkpoints] == ["Move the tables"]
    assert "[CHECKPOINT]" not in told.context
    quoted = run(replace(transcript_of(talk(20)), goal="Move"), Scripted(marked))
    assert not quoted.marks
    aimless = run(transcript_of(talk(20)), Scripted(marked, marks_progress=True))
    assert not aimless.marks
    assert "Move the tables - COMPLETED" in aimless.context
    assert "[CHECKPOINT]" not in aimless.context


def test_results_that_were_left_out_of_requests_are_condensed_in_full_and_in_passages_that_fit() -> None:
    result = " ".join(f"row {number} is on port {5000 + number}" for number in range(1_500))
    calls = tuple(
        turn(number, role="assistant", tokens=30, elided=True, tools=(ToolUse("c", "sql", "{}", result),))
        for number in range(6)
    )
    small = Scripted(window=8_000)
    run(transcript_of((*calls, *talk(20)[6:]), window=60_000), small)
    assert len(small.shown) > 6
    assert all(count_tokens(passage.text) < 8_000 for passage in small.shown)
    assert sum(passage.text.count("row 1499 is on port 6499") for passage in small.shown) == 6


PORTUGUESE = GOOD.replace(
    "They talked.",
    "Eles falaram sobre a mudança da cidade para o norte e decidiram que não vão vender a casa antes do verão, porque "
    "os preços ainda estão muito baixos e o banco não quer dar mais dinheiro para isso.",
)


def test_only_a_models_summary_can_be_in_another_language() -> None:
    """A selection has the sentences of its messages: were it refused, nothing would be left that can make room."""
    said = "We talked about the move to the north, and that they do not want to sell the house before the summer. "
    turns = tuple(turn(n, role=("user", "assistant")[n % 2], content=f"{said * 3} {n}") for n in range(12))
    assert "Eles falaram" in run(transcript_of(turns), Scripted(PORTUGUESE)).context
    with pytest.raises(CompactionFailed, match="another language"):
        run(transcript_of(turns), Scripted(PORTUGUESE, marks_progress=True))
