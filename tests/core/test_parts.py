"""Long texts are summarised in independent parts, several at a time, and their summaries become one."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.errors import CompactionFailed
from compression.core.instructions import MERGE_REQUEST, summary_request
from compression.core.merging import HEADER_TOKENS, MIN_PART_TOKENS, MergeStrategy, Size
from compression.core.pipeline import compact
from compression.core.plan.policy import Policy
from compression.core.ports import NoPartWatch
from compression.core.stages.prepare import WORDING_TOKENS
from compression.core.tokens import count_tokens
from compression.core.values import Checkpoint, Draft, Passage, Steering, SummariserOutput, Transcript, Turn, Window
from tests.core.conversations import START, dialogue

TURNS = tuple(
    dialogue(*(f"Message {number} says port {5000 + number}. " + f"note{number} " * 60 for number in range(100)))
)
NUMBER = re.compile(r"port (\d{4})")


@dataclass
class Reader:
    """Writes down the first and the last port that it reads, with a mark; each answer takes a random number of turns
    of the loop."""

    window: int | None = 4_000
    luck: random.Random = field(default_factory=random.Random)
    broken: frozenset[int] = frozenset()
    fault: type[Exception] = CompactionFailed
    slowest: int = 20
    name: str = "reader"
    provisional: bool = False
    fills_budget: bool = False
    marks_progress: bool = True

    def __post_init__(self) -> None:
        self.shown: list[Passage] = []
        self.answered: list[int] = []
        self.under_way = self.most = 0
        self.cancelled = 0

    async def summarise(self, passage: Passage) -> SummariserOutput:
        self.shown.append(passage)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for _ in range(self.luck.randrange(1, self.slowest)):
                await asyncio.sleep(0)
            if passage.number in self.broken:
                raise self.fault("summarise", f"part {passage.number} is broken")
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way -= 1
        self.answered.append(passage.number)
        ports = NUMBER.findall(f"{passage.earlier}\n{passage.text}")
        return SummariserOutput(
            f"## Summary\nFrom port {ports[0]} to port {ports[-1]}, {len(ports)} times.\n\n## State\n- Done: all\n"
            f"[CHECKPOINT] Port {ports[0]} is open - {'COMPLETED' if passage.merges else 'PENDING'}"
        )


async def ignored(stage: str, percent: int) -> None:
    assert 0 <= percent <= 100


def drafted(reader: Reader, *, at_once: int = 4, turns: tuple[Turn, ...] = TURNS, watch: object = None, **how: object):
    transcript = Transcript(turns, Window(64_000, 1_000), goal="Open all ports", **how)  # type: ignore[arg-type]
    return compact(
        transcript, Policy(strategy="continuation"), steering=Steering(), summariser=reader, count=count_tokens,
        on_stage=ignored, watch=watch, at_once=at_once,  # type: ignore[arg-type]
    )  # fmt: skip


def draft_of(reader: Reader, **how: object) -> Draft:
    return asyncio.run(drafted(reader, **how))  # type: ignore[arg-type]


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    at_once=st.integers(1, 16),
    window=st.sampled_from((2_500, 3_000, 4_000, 8_000)),
    messages=st.sampled_from((30, 60, 100)),
)
def test_no_order_of_answers_and_no_number_at_once_makes_a_difference(
    seed: int, at_once: int, window: int, messages: int
) -> None:
    one_by_one, hasty = Reader(window), Reader(window, random.Random(seed))
    expected = draft_of(one_by_one, at_once=1, turns=TURNS[:messages])
    assert draft_of(hasty, at_once=at_once, turns=TURNS[:messages]) == expected
    assert sorted(map(repr, hasty.shown)) == sorted(map(repr, one_by_one.shown))
    assert one_by_one.most == 1
    assert hasty.most <= at_once


@pytest.mark.parametrize("window", [2_500, 3_000, 4_000, 8_000])
def test_every_message_is_in_one_part_in_order_and_no_request_is_larger_than_the_window(window: int) -> None:
    reader = Reader(window)
    draft = draft_of(reader)
    parts = [passage for passage in reader.shown if not passage.merges]
    ids = [turn.id for passage in sorted(parts, key=lambda one: one.number) for turn in passage.turns]
    assert list(dict.fromkeys(ids)) == [turn.id for turn in draft.condensed]
    for passage in reader.shown:
        words = summary_request(passage, template="", mode="assistant", delimiter="=====")
        assert sum(map(count_tokens, words)) + 2 * passage.max_tokens < window
        assert count_tokens(passage.text) + WORDING_TOKENS + 2 * passage.max_tokens <= window
    assert [passage.number for passage in reader.shown].count(len(reader.shown) - 1) == 1
    assert reader.shown[-1].merges and reader.shown[-1].max_tokens == draft.max_tokens
    assert "From port 5000 to port 5" in draft.summary


def test_too_many_summaries_for_one_request_are_merged_in_steps() -> None:
    reader = Reader(2_500)
    draft_of(reader)
    merges = [passage for passage in reader.shown if passage.merges]
    assert len(merges) > 2
    assert all(MERGE_REQUEST in summary_request(one, template="", mode="", delimiter="=")[1] for one in merges)
    assert all(passage.earlier == "" for passage in reader.shown)


def test_two_requests_go_one_after_the_other_with_the_first_summary_in_the_second() -> None:
    reader = Reader(4_000)
    draft_of(reader, turns=TURNS[:16])
    assert reader.most == 1
    first, second = reader.shown
    assert (first.earlier, second.merges) == ("", False)
    assert second.earlier.startswith("## Summary\nFrom port 5000")


def test_an_earlier_summary_is_folded_into_the_last_request_alone() -> None:
    earlier = Checkpoint(
        number=1, level=1, summary="## Summary\nBefore: port 4711.\n\n## State\n- Done: much", tokens=20,
        birth_tokens=20, original_tokens=900, first_id="x", last_id="y", last_at=START - timedelta(days=1),
        digest="d", provisional=True,
    )  # fmt: skip
    reader = Reader()
    draft = draft_of(reader, checkpoints=(earlier,), context_tokens=40, cut=earlier.last_at)
    assert draft.folded == (earlier,)
    assert ["4711" in passage.earlier for passage in reader.shown] == [False] * (len(reader.shown) - 1) + [True]
    assert len(reader.shown) > 3
    assert "From port 4711" in draft.summary


def test_marks_of_all_parts_count_and_a_merge_that_repeats_one_sets_its_status() -> None:
    reader = Reader()
    draft = draft_of(reader)
    parts = sum(not passage.merges for passage in reader.shown)
    assert [step.status for step in draft.marks.checkpoints] == ["pending"] * parts + ["completed"]
    assert draft.marks.checkpoints[0].text == draft.marks.checkpoints[-1].text == "Port 5000 is open"
    assert reader.shown[-1].text.count("[CHECKPOINT]") == parts, "a merge reads the words that it is to repeat"
    assert "[CHECKPOINT]" not in draft.summary


def test_after_a_failure_no_part_is_begun_and_those_under_way_are_waited_for() -> None:
    reader = Reader(broken=frozenset({1, 2}))
    with pytest.raises(CompactionFailed, match=r"part (1|2) is broken"):
        draft_of(reader)
    shown = {passage.number for passage in reader.shown}
    assert set(reader.answered) == shown - {1, 2}
    assert not reader.cancelled and reader.under_way == 0
    whole = Reader()
    draft_of(whole)
    assert len(shown) < len(whole.shown) - 1, "the parts of the same text, and the merge"


def test_any_other_fault_ends_all_parts_at_once_as_itself() -> None:
    reader = Reader(broken=frozenset({0}), fault=LookupError)
    with pytest.raises(LookupError):
        draft_of(reader)
    assert reader.under_way == 0 and reader.most == 4
    assert reader.cancelled + len(reader.answered) + 1 == len(reader.shown)


def test_a_cancel_ends_all_parts_at_once() -> None:
    reader = Reader(slowest=10**9)

    async def cancelled() -> None:
        task = asyncio.ensure_future(drafted(reader))
        while reader.under_way < 4:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert reader.cancelled == 4 and reader.under_way == 0


def test_a_watch_is_told_every_request_once_and_the_plan_was_right() -> None:
    class Watch(NoPartWatch):
        def __init__(self) -> None:
            self.plans: list[list[int]] = []
            self.begun_: list[int] = []
            self.ended_: list[int] = []

        async def planned(self, steps, *, at_once, tokens) -> None:  # type: ignore[no-untyped-def]
            self.plans.append([len(step) for step in steps])

        async def begun(self, number: int) -> None:
            self.begun_.append(number)

        async def ended(self, passage: Passage) -> None:
            self.ended_.append(passage.number)

    watch, reader = Watch(), Reader()
    draft_of(reader, watch=watch)
    assert sorted(watch.begun_) == sorted(watch.ended_) == list(range(len(reader.shown)))
    assert sum(watch.plans[-1]) == len(reader.shown)


@given(
    window=st.integers(0, 20_000),
    most=st.integers(1, 4_000),
    earlier=st.integers(0, 4_000),
    sizes=st.lists(st.integers(1, 500), min_size=3, max_size=200),
)
def test_any_merging_ends_within_the_window(window: int, most: int, earlier: int, sizes: list[int]) -> None:
    merging = MergeStrategy(window, most, "x" * earlier, earlier)
    items = [Size(size) for size in sizes]
    found = merging.divided(items)
    if found is None:
        return
    tokens, parts = found
    assert [item for part in parts for item in part] == items
    assert min(MIN_PART_TOKENS, most) <= tokens <= most
    steps = merging.expected(len(parts), tokens)
    assert len(steps[-1]) == 1 and len(steps) < 12
    assert 4 * (min(MIN_PART_TOKENS, most) + HEADER_TOKENS) <= merging.last_room <= window
