"""Any history with tools, compressed by any policy: calls keep their results, and a flow keeps to its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from compression.core.context import FRAME, FRAME_TOKENS
from compression.core.emergency import results_to_omit
from compression.core.errors import CompactionFailed, CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.pipeline import compact
from compression.core.plan.policy import PRESETS, STRATEGIES, Policy
from compression.core.ports import Summariser
from compression.core.savings import pays
from compression.core.tokens import count_tokens
from compression.core.truncation import Truncation
from compression.core.values import Draft, Passage, Steering, SummariserOutput, ToolUse, Transcript, Turn, Window
from compression.core.window import groups
from conversations.context import prompt, transcript
from conversations.context import tools as catalogue
from conversations.context.head import Head
from conversations.context.system_prompt import Instructions
from conversations.context.system_prompt import tokens as tokens_of
from conversations.context.transcript import Loaded
from conversations.llm import tools

pytestmark = pytest.mark.once
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = "the port is 5433 and node-7.internal keeps /var/log/alpha.log for 14 days as nobody may restart it".split()  # noqa: SIM905
KINDS = ("user", "assistant", "calls", "calls", "imported")
SIZES = (3, 20, 60, 200)
bounded = partial(settings, deadline=None, database=None, derandomize=True)


class Writes:
    """A model that writes as many words as it is asked for, or twice as many."""

    name = "writes"
    window = None
    provisional = False
    fills_budget = False
    marks_progress = True

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    async def summarise(self, passage: Passage) -> SummariserOutput:
        told = words(self._chance, passage.max_tokens * self._chance.randint(1, 2) // 2)
        return SummariserOutput(f"## Summary\n{told}\n\n## Decisions\n-\n\n## Files\n-\n\n## State\n-\n\n## Context\n-")


def words(chance: Random, number: int) -> str:
    return " ".join(chance.choices(WORDS, k=number))


def history(chance: Random, *, first: int = 0, most: int = 24) -> list[Turn]:
    """Messages, calls with one to three results, and imported ones whose results are messages of their own."""
    turns: list[Turn] = []
    for _ in range(chance.randint(1, most)):
        kind = chance.choice(KINDS)
        turns.append(turn(chance, kind, first + len(turns)))
        if kind == "imported":
            turns += [turn(chance, "tool", first + len(turns) + each) for each in range(chance.randint(1, 2))]
    return turns


def turn(chance: Random, kind: str, number: int) -> Turn:
    role = kind if kind in ("user", "tool") else "assistant"
    uses = tuple(
        ToolUse(f"call{number}-{each}", "read", '{"path": "a"}', chance.choice((None, words(chance, 90))))
        for each in range(chance.randint(1, 3) if kind == "calls" else 0)
    )
    content = f"{number}: {words(chance, chance.choice(SIZES))}"
    tokens = transcript.message_tokens(content, uses, role=role)
    moment = START + timedelta(seconds=number)
    return Turn(f"m{number}", role, content, moment, tokens, tools=uses, protected=chance.random() < 0.06)  # type: ignore[arg-type]


def loaded(before: Transcript, draft: Draft | None = None) -> Loaded:
    """What the rows give when they are read again, the question that tools are called for marked."""
    cut = draft.cut if draft else before.cut
    kept = tuple(one for one in before.turns if draft and one.id in draft.verbatim_ids)
    live = tuple(one for one in before.turns if cut is None or one.created_at > cut)
    values: dict[str, Any] = dict.fromkeys(Head._fields[:-1]) | {
        "id": UUID(int=1), "mode": "assistant", "system_prompt": "", "rules": [], "goal": "", "kind": "agent",
        "compressed_context": draft.context if draft else None, "nominal_window": 16_000, "is_replying": True,
        "tools": (),
    }  # fmt: skip
    found = Loaded(Head(**values), kept, live)
    return transcript._with_protected_question(found) if found.is_at_tools else found


def at_work(turns: Sequence[Turn], window: Window, **more: Any) -> Transcript:
    """The next request of these, as rows would be loaded for it."""
    whole = loaded(Transcript(tuple(turns), window))
    return Transcript(whole.turns, window, waiting=whole.waiting, **more)


def summariser(chance: Random) -> Summariser:
    return chance.choice((Writes(chance), Extractive(), Truncation()))


def compacted(before: Transcript, policy: Policy, steering: Steering, who: Summariser) -> Draft | None:
    """None where there is nothing to condense, or where a summary was refused."""
    try:
        return run(before, policy, steering, who)
    except (CompactionSkipped, CompactionFailed):
        return None


def is_skipped(before: Transcript, policy: Policy, who: Summariser) -> bool:
    try:
        run(before, policy, Steering(), who)
    except CompactionSkipped:
        return True
    except CompactionFailed:  # a summary was asked for, and refused
        return False
    return False


def run(before: Transcript, policy: Policy, steering: Steering, who: Summariser) -> Draft:
    async def on_stage(stage: str, percent: int) -> None:
        assert stage

    return asyncio.run(
        compact(before, policy, steering=steering, summariser=who, count=count_tokens, on_stage=on_stage)
    )


def flow(chance: Random) -> Policy:
    own = PRESETS[chance.choice(("planner", "executor"))]
    return Policy(**own | {"strategy": chance.choice(STRATEGIES)})


def steered(chance: Random, before: Transcript) -> Steering:
    if chance.random() < 0.3:
        return Steering(up_to=chance.choice(before.turns).id)
    return Steering(keep_recent=chance.choice((None, None, 0, 1, 7)))


def lives(chance: Random, policy: Policy) -> Iterator[tuple[Transcript, Draft]]:
    """A conversation that goes on: its compactions, each with what it started from."""
    window = Window(chance.choice((4_096, 128_000)), 1_000, chance.choice((1.0, 1.25)))
    before, said = at_work(history(chance), window), 40
    for _ in range(3):
        draft = compacted(before, policy, steered(chance, before), summariser(chance))
        turns, more = before.turns, {"checkpoints": before.checkpoints, "cut": before.cut}
        if draft is not None:
            yield before, draft
            turns = loaded(before, draft).turns
            stored = tuple(replace(one, number=number) for number, one in enumerate(draft.checkpoints, 1))
            more = {"checkpoints": stored, "cut": draft.cut, "context_tokens": draft.context_tokens}
        else:
            more["context_tokens"] = before.context_tokens
        found = at_work((*turns, *history(chance, first=said, most=8)), window, **more)
        before, said = found, said + 40


def assert_calls_have_their_results(messages: Sequence[dict[str, Any]]) -> None:
    """Each call has exactly one result, right behind its message and in order; no result is without a call."""
    place = 0
    while place < len(messages):
        calls = [call["id"] for call in messages[place].get("tool_calls") or ()]
        answers = messages[place + 1 : place + 1 + len(calls)]
        assert [one.get("tool_call_id") for one in answers] == calls
        place += 1 + len(calls)
        assert place >= len(messages) or messages[place]["role"] != "tool"


@seed(7)
@bounded(max_examples=20)
@given(st.integers())
def test_no_cut_separates_a_call_from_its_result_and_every_message_is_represented(number: int) -> None:
    chance = Random(number)
    policy = chance.choice((flow(chance), Policy(strategy=chance.choice(STRATEGIES), min_messages=1)))
    for before, draft in lives(chance, policy):
        sent = loaded(before, draft)
        ids, condensed = {one.id for one in sent.turns}, {one.id for one in draft.condensed}
        assert ids.isdisjoint(condensed) and ids | condensed == {one.id for one in before.turns}
        for call, result in pairwise(before.turns):
            assert result.role != "tool" or (call.id in ids) is (result.id in ids), "a call without its result"
        assert not any(one.protected for one in draft.condensed)
        messages = prompt.assemble(sent).messages
        assert_calls_have_their_results(messages)
        told = [message["content"] for message in messages]
        waiting = before.turns[len(before.turns) - before.waiting :]
        for one in waiting:
            assert one.content in told
            assert all((use.result or transcript.NO_RESULT) in told for use in one.tools)
        if waiting and waiting[-1].tools:
            asked = [one for one in before.turns if one.role == "user"][-1:]
            assert all(one.content in told for one in asked), "the question that is being answered"


@seed(7)
@bounded(max_examples=35)
@given(st.integers())
def test_a_flow_comes_out_at_or_under_its_budget_but_for_what_must_stay(number: int) -> None:
    """What must stay: protected groups, what is being answered, and where no tools were called the group before it."""
    chance = Random(number)
    policy = flow(chance)
    window = Window(128_000, 1_000, chance.choice((1.0, 1.25, 1.6)))
    before = at_work(history(chance), window)
    draft = compacted(before, policy, Steering(), summariser(chance))
    if draft is None:
        return
    assert draft.after is not None and draft.before is not None and policy.history_tokens
    verbatim = [one for one in draft.kept + draft.tail if not one.protected]
    if policy.history(draft.after) > policy.history_tokens:
        assert sum(one.tokens for one in verbatim) > policy.verbatim_budget(window)
        waiting = before.turns[len(before.turns) - before.waiting :]
        at_tools = any(one.tools for one in waiting)
        settled = groups(draft.tail[: len(draft.tail) - before.waiting])
        assert len(settled) <= (0 if at_tools else 1), [len(group) for group in settled]
    assert policy.history(draft.after) < policy.history(draft.before)


@seed(7)
@bounded(max_examples=20)
@given(st.integers())
def test_a_compaction_is_begun_exactly_where_it_would_come_to_something(number: int) -> None:
    chance = Random(number)
    policy = flow(chance)
    before = at_work(history(chance, most=12), Window(128_000, 1_000))
    begun = pays(before, policy, count=count_tokens)
    for who in (Extractive(), Truncation()):
        assert is_skipped(before, policy, who) is not begun


@seed(7)
@bounded(max_examples=40)
@given(st.integers())
def test_results_that_are_left_out_leave_every_call_its_answer_and_the_last_group_last(number: int) -> None:
    chance = Random(number)
    turns = at_work(history(chance), Window(16_000, 1_000)).turns
    whole = sum(one.tokens for one in turns)
    before = Transcript(turns, Window(chance.randint(200, whole + 400), 100))
    costs = {one.id: 20 for one in turns if one.tools and one.tokens > 20}
    out = results_to_omit(before, costs)
    cheap = [replace(one, elided=True, tokens=out[one.id]) if one.id in out else one for one in turns]
    messages = prompt.assemble(loaded(replace(before, turns=tuple(cheap)))).messages
    assert_calls_have_their_results(messages)
    answered = {one.id for one in groups(turns)[-1]}
    if answered & out.keys():
        assert costs.keys() - answered <= out.keys(), "others could have been left out first"


@pytest.mark.parametrize("who", [Writes(Random(7)), Truncation(), Extractive()])
def test_an_executors_words_without_a_fact_are_condensed_too(who: Summariser) -> None:
    turns = [replace(turn(Random(n), "user", n), content="so it went on and on " * 20, tokens=124) for n in range(9)]
    before = Transcript(tuple(replace(one, protected=False) for one in turns), Window(128_000, 1_000))
    assert pays(before, Policy(**PRESETS["executor"]), count=count_tokens)
    assert compacted(before, Policy(**PRESETS["executor"]), Steering(), who) is not None


def test_the_frame_of_a_summary_takes_what_a_flow_reckons_with() -> None:
    assert count_tokens(FRAME) + 2 <= FRAME_TOKENS


def test_an_executors_instructions_and_tools_keep_to_their_parts_of_its_budget() -> None:
    """1,500 tokens: 300 of instructions, 200 of task, 400 of tools, 600 of history."""
    for mode in ("assistant", "developer", "planning", "debugger"):
        assert tokens_of(Instructions(mode, kind="executor", has_tools=True)) <= 300
    assert tools.tokens(catalogue.BUILT_IN) <= 400


@pytest.mark.parametrize("tokens", [126, 200, 400, 1_000])
@pytest.mark.parametrize("correction", [1.0, 1.25])
def test_of_twenty_even_messages_that_outgrow_a_planner_a_third_is_left(tokens: int, correction: float) -> None:
    chance = Random(tokens)
    turns = [replace(turn(chance, ("user", "assistant")[n % 2], n), tokens=tokens, protected=False) for n in range(20)]
    before = Transcript(tuple(turns), Window(128_000, 1_000, correction))
    draft = compacted(before, Policy(**PRESETS["planner"]), Steering(), Writes(chance))
    assert draft is not None and draft.before is not None and draft.after is not None
    least = 65 if tokens >= 180 else 55
    assert 100 * (1 - draft.after.total / draft.before.total) >= least
