"""Chains of compactions: what stands for what, how it ages, and that it always fits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count as counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.context import render_context
from compression.core.digest import extend_digest
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive.summariser import Extractive, extract
from compression.core.plan.aging import LEAST_TOKENS, MIN_SUMMARY_TOKENS, OLDEST_AGE
from compression.core.plan.policy import STRATEGIES, Policy, Strategy
from compression.core.plan.starting_point import starting_point
from compression.core.tokens import count_tokens
from compression.core.truncation import Truncation
from compression.core.values import MESSAGE_OVERHEAD, Checkpoint, Draft, Transcript, Turn, Window, total_tokens
from tests.core.conversations import split_at_cut
from tests.core.test_pipeline import GOOD, Scripted, assert_represented, run, turn

LONG = GOOD.replace(
    "Done: all", "Done: " + "; ".join(f"moved /srv/app{n}/main.py to port {7000 + n}" for n in range(90))
)

IN_A_ROW = int(os.environ.get("IN_A_ROW", "10"))


def window(size: int) -> Window:
    return Window(size, min(1_000, size // 4))


@dataclass
class Chat:
    """A conversation as it is stored: its whole history, and the state of its compression."""

    policy: Policy = field(default_factory=Policy)
    window: Window = field(default_factory=lambda: window(8_000))
    system_tokens: int = 0
    history: tuple[Turn, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    cut: datetime | None = None
    verbatim: tuple[str, ...] = ()
    number: Iterator[int] = field(default_factory=lambda: counter(1))
    read: int = 0
    """How often messages were read again."""

    def say(self, messages: int, *, protected: bool = False, words: str = "") -> None:
        first = len(self.history)
        self.history += tuple(
            turn(n, role=("user", "assistant")[n % 2], content=words and f"{n} {words}", protected=protected)
            for n in range(first, first + messages)
        )

    def protect(self, id: str, protected: bool) -> None:
        self.history = tuple(replace(one, protected=protected) if one.id == id else one for one in self.history)

    def transcript(self, *, rebuilding: bool = False) -> Transcript:
        checkpoints, cut, kept_ids = self.checkpoints, self.cut, set(self.verbatim)
        if rebuilding:
            begin = starting_point(self.checkpoints)
            checkpoints, cut, kept_ids = begin.checkpoints, begin.cut, kept_ids | set(begin.stragglers)
        before, live = split_at_cut(self.history, cut)
        return Transcript(
            turns=tuple(one for one in before if one.id in kept_ids) + live,
            window=self.window,
            system_tokens=self.system_tokens,
            context_tokens=count_tokens(render_context(checkpoints)) + MESSAGE_OVERHEAD if checkpoints else 0,
            checkpoints=checkpoints,
            cut=cut,
            waiting=int(self.history[-1].role == "user"),
        )

    def compact(self, summariser: object, *, rebuilding: bool = False, **steering: object) -> Draft:
        """Compact, check what must be true of the outcome, and store it."""
        before = self.transcript(rebuilding=rebuilding)
        draft = run(before, summariser, self.policy, self.originals, **steering)
        assert_represented(before, draft)
        self.store(draft)
        self._check(before, draft)
        return draft

    async def originals(self, after: datetime | None, up_to: datetime, earlier: Sequence[str]) -> tuple[Turn, ...]:
        before, since = split_at_cut(self.history, after)
        self.read += 1
        return tuple(one for one in before if one.id in earlier) + split_at_cut(since, up_to)[0]

    def store(self, draft: Draft) -> None:
        self.checkpoints = tuple(
            one if one.number else replace(one, number=next(self.number)) for one in draft.checkpoints
        )
        self.cut, self.verbatim = draft.cut, draft.verbatim_ids

    def _check(self, before: Transcript, draft: Draft) -> None:
        budget = self.policy.context_budget(self.window)
        assert draft.context == render_context(draft.checkpoints)
        assert count_tokens(draft.context) <= budget
        ends = [one.last_at for one in self.checkpoints]
        assert ends == sorted(set(ends)) and ends[-1] == self.cut
        digest, since = "", None
        for one, covered in zip(self.checkpoints, self.covered(), strict=True):
            run = split_at_cut(split_at_cut(self.history, since)[1], one.last_at)[0]
            digest, since = extend_digest(digest, run), one.last_at
            assert one.digest == digest
            assert one.original_tokens == total_tokens(covered)
            assert one.first_id in {turn.id for turn in covered}
            assert one.tokens == count_tokens(one.summary)
            assert one.tokens <= max(MIN_SUMMARY_TOKENS, one.birth_tokens)
            assert one.number in {stored.number for stored in before.checkpoints if stored == one} or (
                one.number > max((stored.number for stored in before.checkpoints), default=0)
            )
        assert self.checkpoints[-1].age == 0

    def covered(self) -> list[tuple[Turn, ...]]:
        """What each checkpoint stands for: its run and its stragglers, less what was kept or condensed later."""
        found, since = [], None
        for number, one in enumerate(self.checkpoints):
            later = {id for other in self.checkpoints[number + 1 :] for id in other.stragglers}
            passed = split_at_cut(self.history, since)[1]
            members = {turn.id for turn in split_at_cut(passed, one.last_at)[0]} - set(self.verbatim) - later
            members |= set(one.stragglers)
            found.append(tuple(turn for turn in self.history if turn.id in members))
            since = one.last_at
        return found


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "summariser", [Scripted(), Scripted(LONG), Extractive(), Truncation()], ids=lambda who: who.name
)
@pytest.mark.parametrize("size", [1_024, 4_000, 128_000])
def test_many_compactions_in_a_row_work(strategy: Strategy, summariser: object, size: int) -> None:
    chat = Chat(Policy(strategy=strategy), window(size))
    for _ in range(IN_A_ROW):
        chat.say(12)
        before = chat.checkpoints
        draft = chat.compact(summariser)
        if strategy in ("rolling", "continuation"):
            assert len(chat.checkpoints) == 1
            continue
        if sum(one.tokens + 2 for one in (*before, draft.checkpoints[-1])) + 34 <= chat.policy.context_budget(
            window(size)
        ):
            assert chat.checkpoints[:-1] == before  # there is room: nothing is shortened


def test_a_new_checkpoint_stands_for_the_newly_condensed_messages_alone() -> None:
    chat, summariser = Chat(), Scripted()
    chat.say(20)
    chat.compact(summariser)
    chat.say(10)
    chat.compact(summariser)
    assert [(one.first_id, one.last_id) for one in chat.checkpoints] == [("0", "15"), ("16", "25")]
    assert [one.number for one in chat.checkpoints] == [1, 2]
    assert summariser.shown[-1].earlier == ""
    assert [turn.id for turn in summariser.shown[-1].turns] == [str(number) for number in range(16, 26)]


def test_parts_of_one_compaction_are_merged() -> None:
    chat, summariser = Chat(window=window(32_000)), Scripted(window=4_000)
    chat.say(20)
    chat.compact(Scripted())
    chat.say(120)
    chat.compact(summariser)
    parts = len(summariser.shown) - 1
    assert parts > 1
    assert [passage.earlier for passage in summariser.shown] == [""] * (parts + 1)
    assert [passage.merges for passage in summariser.shown] == [False] * parts + [True]
    assert summariser.shown[-1].text.count(GOOD) == parts


DECISIONS = tuple(
    f"They chose {name} for the {part}, because of {why}."
    for name, part, why in (
        ("PostgreSQL", "orders", "transactions"), ("Redis", "sessions", "speed"), ("Hetzner", "servers", "cost"),
        ("Caddy", "proxy", "certificates"), ("Grafana", "alerts", "habit"), ("Celery", "jobs", "retries"),
        ("Stripe", "payments", "Klarna"), ("Fridays", "freeze", "weekends"),
    )
)  # fmt: skip
DECIDED = GOOD.replace("They talked.", "The shop moves to Europe.").replace(
    "## Decisions\n-", "## Decisions\n" + "\n".join(f"- {decision}" for decision in DECISIONS)
)


def test_nothing_is_shortened_while_there_is_room() -> None:
    chat = Chat(window=window(128_000))
    seen: list[Checkpoint] = []
    for step in range(5):
        chat.say(40)
        chat.compact(Scripted(LONG) if step == 0 else Scripted())
        seen.append(chat.checkpoints[0])
    assert seen == [seen[0]] * 5
    assert chat.read == 0


def test_eight_decisions_of_the_first_summary_outlive_ten_compactions() -> None:
    chat = Chat(window=window(16_384))
    chat.say(80)
    chat.compact(Scripted(DECIDED))
    for _ in range(10):
        chat.say(80)
        chat.compact(Scripted(LONG))
    assert [decision for decision in DECISIONS if decision not in chat.checkpoints[0].summary] == []
    assert "The shop moves to Europe." in chat.checkpoints[0].summary
    assert chat.read > 0


def test_a_summary_that_gives_way_is_made_anew_from_its_messages() -> None:
    chat = Chat(window=window(4_000))
    chat.say(60)
    chat.compact(Scripted(LONG))
    for _ in range(9):
        chat.say(60)
        chat.compact(Scripted(LONG))
    first = chat.checkpoints[0]
    assert first.age == OLDEST_AGE
    own = {turn.content.split()[1] for turn in chat.covered()[0]}
    named = set(re.findall(r"port 5(\d+)", first.summary))
    assert named
    assert {str(int(number)) for number in named} <= own
    assert "/srv/app" not in first.summary  # the made-up work of its first text is in no message


WRITTEN = GOOD.replace(
    "Done: all",
    "Done: the copy of message 4 runs at port 5004\n- Done: moved /srv/app7/main.py\n- Pending: message 6, port 5006",
)


def test_what_a_model_wrote_and_the_messages_support_outlives_its_summary_s_shortening() -> None:
    chat = Chat(window=window(8_000))
    chat.say(60)
    chat.compact(Scripted(WRITTEN))
    for _ in range(6):
        chat.say(60)
        chat.compact(Scripted(LONG))
    first = chat.checkpoints[0]
    assert first.age > 0 and chat.read > 0
    assert "the copy of message 4 runs at port 5004" in first.summary
    assert "/srv/app7" not in first.summary, "no message says so"
    assert "Pending" not in first.summary, "it was open then"


def test_neighbours_merge_where_the_least_of_each_would_not_fit() -> None:
    chat = Chat(window=window(4_000))
    sizes = []
    for _ in range(30):
        chat.say(12)
        chat.compact(Extractive())
        sizes.append(len(chat.checkpoints))
    budget = chat.policy.context_budget(chat.window)
    assert max(sizes) <= budget // LEAST_TOKENS
    merged = [one for one in chat.checkpoints if one.original_tokens > 2 * chat.checkpoints[-1].original_tokens]
    assert merged
    assert all(one.age == OLDEST_AGE for one in merged)
    assert all(one.tokens >= LEAST_TOKENS // 3 for one in chat.checkpoints), "no summary becomes a few stray words"


def test_a_rolling_summary_without_a_model_is_selected_from_all_messages() -> None:
    chat = Chat(Policy(strategy="rolling"), window(8_000))
    for _ in range(5):
        chat.say(40)
        draft = chat.compact(Extractive())
    assert [passage.turns[0].id for passage in draft.passages] == ["0"]
    assert draft.passages[0].earlier == ""


def total(draft: Draft) -> int:
    assert draft.after is not None
    return draft.after.total


@pytest.mark.parametrize("size", [8_000, 32_000, 128_000])
@pytest.mark.parametrize("growth", [0, 0.15])
def test_a_compaction_that_nobody_asked_for_keeps_the_latest_messages_up_to_the_target(
    size: int, growth: float
) -> None:
    chat = Chat(window=window(size))
    while chat.policy.full_at * size > total_tokens(chat.transcript().turns if chat.history else ()):
        chat.say(2)
    draft = chat.compact(Scripted(), growth=int(growth * size))
    reserved = chat.policy.recall_budget(chat.window) + chat.policy.new_summary_tokens(chat.window)
    room = chat.policy.target(chat.window) - growth * size - reserved
    kept = total_tokens(draft.tail)
    if room > 500:
        assert room - 200 < kept <= room
    else:  # a small window, whose summary is prepared ahead
        assert len(draft.tail) == chat.policy.keep_recent
    assert draft.tail[0].role == "user"


def test_by_hand_everything_but_the_latest_is_compacted() -> None:
    chat = Chat(window=window(32_000))
    chat.say(400)
    assert len(chat.compact(Scripted()).tail) == chat.policy.keep_recent


def test_a_target_near_the_threshold_still_compacts_what_is_worth_a_summary() -> None:
    chat = Chat(Policy(threshold=0.6, target_ratio=0.59), window(32_000))
    while chat.policy.full_at * 32_000 > total_tokens(chat.transcript().turns if chat.history else ()):
        chat.say(2)
    draft = chat.compact(Scripted(), growth=0)
    assert draft.condensed_tokens >= 2 * chat.policy.new_summary_tokens(chat.window)


def test_a_much_smaller_window_holds_what_a_large_one_did() -> None:
    chat = Chat(Policy(summary_max_tokens=4_000), window(128_000))
    for _ in range(20):
        chat.say(20)
        chat.compact(Extractive())
    assert len(chat.checkpoints) > 15
    chat.window, chat.system_tokens = window(1_024), 200
    chat.say(12)
    chat.compact(Extractive())
    assert len(chat.checkpoints) < 5


def test_a_window_without_room_for_two_summaries_is_skipped_and_no_failure() -> None:
    chat = Chat(Policy(summary_share=0.15), window(600), system_tokens=200)
    chat.say(20)
    chat.compact(Extractive())
    chat.say(12)
    with pytest.raises(CompactionSkipped):
        chat.compact(Extractive())


def test_a_long_context_does_not_make_a_summary_of_a_few_short_messages_worth_it() -> None:
    chat = Chat(window=window(128_000))
    chat.say(200)
    chat.compact(Extractive(), keep_recent=0)
    chat.say(4, words="ok")
    assert chat.checkpoints[0].tokens > 1_000
    with pytest.raises(CompactionSkipped, match="would not be smaller"):
        chat.compact(Extractive(), keep_recent=0)


def test_continuation_condenses_everything_up_to_the_question_into_one() -> None:
    chat = Chat(Policy(strategy="continuation"))
    chat.say(21)
    draft = chat.compact(Scripted("## Summary\nThe vault code is 7719.\n\n## State\n- Done: nothing"))
    assert [turn.id for turn in draft.tail] == ["20"]
    chat.say(12)
    summariser = Scripted()
    draft = chat.compact(summariser)
    assert [turn.id for turn in draft.tail] == ["32"]
    assert "7719" in summariser.shown[0].earlier
    assert len(draft.checkpoints) == 1


def test_a_person_may_keep_messages_even_so() -> None:
    chat = Chat(Policy(strategy="continuation"))
    chat.say(20)
    assert len(chat.compact(Scripted(), keep_recent=6).tail) == 6


def test_a_truncation_leaves_the_earlier_checkpoints_standing() -> None:
    chat = Chat(Policy(strategy="truncate"))
    chat.say(20)
    chat.compact(Scripted("## Summary\nThe vault code is 7719.\n\n## State\n- Done: nothing"))
    chat.say(12)
    draft = chat.compact(Truncation())
    assert [one.provisional for one in draft.checkpoints] == [False, True]
    assert "7719" in draft.context
    assert "12 messages omitted, stored in full." in draft.context


def test_a_truncation_folds_an_earlier_summary_in_where_one_stands_for_all() -> None:
    chat = Chat(Policy(strategy="rolling"))
    chat.say(20)
    chat.compact(Scripted("## Summary\nThey moved the vault to the cellar of the mill.\n\n## State\n- Done: nothing"))
    chat.say(12)
    chat.compact(Truncation())
    chat.say(12)
    draft = chat.compact(Truncation())
    assert len(draft.checkpoints) == 1
    assert "the vault to the cellar of the mill" in draft.context
    assert "24 messages omitted, stored in full." in draft.context


def test_merged_truncations_tell_how_many_messages_they_omit_together() -> None:
    chat = Chat(Policy(strategy="truncate"), window(4_000))
    for _ in range(30):
        chat.say(12)
        chat.compact(Truncation())
    merged = chat.checkpoints[0]
    assert merged.provisional
    assert f"{len(chat.covered()[0])} messages omitted" in merged.summary


def test_truncations_are_rebuilt_from_the_messages() -> None:
    chat, summariser = Chat(), Scripted()
    chat.say(20)
    chat.compact(Scripted())
    for _ in range(3):
        chat.say(12)
        chat.compact(Truncation())
    chat.say(12)
    chat.compact(summariser, rebuilding=True)
    assert [(one.provisional, one.last_id) for one in chat.checkpoints] == [(False, "15"), (False, "63")]
    assert [turn.id for turn in summariser.shown[0].turns] == [str(number) for number in range(16, 64)]


def test_nothing_to_rebuild_starts_where_the_last_compaction_ended() -> None:
    chat = Chat()
    chat.say(20)
    chat.compact(Scripted())
    begin = starting_point(chat.checkpoints)
    assert (begin.checkpoints, begin.cut, begin.stragglers) == (chat.checkpoints, chat.cut, ())
    assert starting_point(()).cut is None


def test_a_message_that_was_kept_and_then_omitted_is_rebuilt_too() -> None:
    chat, summariser = Chat(), Scripted()
    chat.say(20)
    chat.protect("3", True)
    chat.compact(Scripted())
    assert chat.verbatim == ("3",)
    chat.protect("3", False)
    chat.say(12)
    chat.compact(Truncation())
    assert chat.checkpoints[-1].stragglers == ("3",)
    chat.say(12)
    chat.compact(summariser, rebuilding=True)
    assert summariser.shown[0].turns[0].id == "3"
    assert chat.checkpoints[-1].stragglers == ("3",)


def test_where_the_cut_does_not_move_the_last_checkpoint_is_folded_in() -> None:
    chat, summariser = Chat(), Scripted()
    chat.say(10)
    chat.compact(Scripted())
    chat.say(30)
    for number in range(12, 26):
        chat.protect(str(number), True)
    chat.compact(Scripted("## Summary\nThe vault code is 7719.\n\n## State\n- Done: nothing"))
    for number in range(12, 26):
        chat.protect(str(number), False)
    chat.compact(summariser)
    assert "7719" in summariser.shown[0].earlier
    assert [(one.first_id, one.last_id) for one in chat.checkpoints] == [("0", "5"), ("6", "35")]


SUMMARISERS = (Scripted(), Scripted(LONG), Extractive(), Truncation())
steps = st.tuples(
    st.integers(1, 30),
    st.sampled_from(STRATEGIES),
    st.integers(0, len(SUMMARISERS) - 1),
    st.sampled_from([1_024, 2_000, 8_000, 128_000]),
    st.sampled_from([0, 80, 700]),
    st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=4),
    st.sampled_from(["", "tak så meget for hjælpen ", "好的，我们明天再谈。", "🙂 … — ", "a.b/c "]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, min_size=1, max_size=14))
def test_whatever_the_order_of_strategies_summarisers_and_windows(plan: list[tuple[object, ...]]) -> None:
    chat = Chat()
    for messages, strategy, who, size, system_tokens, pins, words in plan:
        chat.policy, chat.window, chat.system_tokens = Policy(strategy=strategy), window(size), system_tokens
        chat.say(messages, words=words * 12)
        for number, protected in pins:
            chat.protect(str(number), protected)
        summariser = SUMMARISERS[who]
        try:
            chat.compact(summariser, rebuilding=not summariser.provisional)
        except CompactionSkipped:
            continue
        except CompactionFailed as failure:
            # No whole sentence fits the room, or it flipped to English: the next summariser is asked.
            assert "nothing under" in failure.reason or "another language" in failure.reason
            continue
        assert summariser.provisional or not chat.checkpoints[-1].provisional


@pytest.mark.parametrize("limit", [45, 60, 90])
def test_where_no_whole_sentence_fits_a_selection_begins_one(limit: int) -> None:
    endless = " ".join(f"more-of-item-{number}-on-port-{5000 + number}" for number in range(90))
    text = extract([turn(1, content=endless)], earlier="", max_tokens=limit, count=count_tokens)
    assert "more-of-item-" in text
    assert count_tokens(text) <= limit
