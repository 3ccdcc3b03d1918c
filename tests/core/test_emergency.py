"""What is done where nothing else helps: it makes room, forgets nothing of what it stands for, and never raises."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.context import render_context
from compression.core.emergency import merge_checkpoints, results_to_omit
from compression.core.plan.aging import MERGED_SHARE, MIN_SUMMARY_TOKENS, OLDEST_AGE
from compression.core.request_usage import usage_of
from compression.core.sections import SECTIONS
from compression.core.tokens import count_tokens
from compression.core.values import Checkpoint, Transcript, Turn, Window
from tests.core.conversations import START, turn

words = st.text(alphabet=st.characters(codec="utf-8"), max_size=300)
LINES = (
    "Moved /srv/app{n}/main.py to port {n}.", "- auth: tokens expire after {n} minutes, because of audits",
    "They never deploy on Fridays.", "1 message omitted, stored in full.", "key{n}=value {n}", "…",
    "```\nmake {n}\n```",
)  # fmt: skip


def checkpoint(number: int, summary: str, *, age: int = 0, **more: object) -> Checkpoint:
    return Checkpoint(
        number=number,
        level=1 + number % 3,
        summary=summary,
        tokens=count_tokens(summary),
        birth_tokens=ceil(count_tokens(summary) / (1.0, 0.6, 0.3)[age]),
        original_tokens=100 * number,
        first_id=f"first {number}",
        last_id=f"last {number}",
        last_at=START + timedelta(hours=number),
        digest=f"digest {number}",
        age=age,
        **more,  # type: ignore[arg-type]
    )


@st.composite
def summaries(draw: st.DrawFn) -> str:
    chance = random.Random(draw(st.integers()))
    sections = []
    for name in chance.sample(SECTIONS, chance.randint(0, len(SECTIONS))):
        body = [chance.choice(LINES).format(n=chance.randint(1, 9_999)) for _ in range(chance.randint(0, 12))]
        sections.append("\n".join((f"## {name}", *body)))
    return "\n\n".join((*sections, draw(words)))


@st.composite
def histories(draw: st.DrawFn) -> list[Checkpoint]:
    texts = draw(st.lists(summaries(), min_size=1, max_size=12))
    return [
        checkpoint(number, text, age=draw(st.integers(0, OLDEST_AGE)), provisional=draw(st.booleans()))
        for number, text in enumerate(texts, start=1)
    ]


@settings(max_examples=200, deadline=None)
@given(histories())
def test_any_summaries_become_one_within_the_bound_that_stands_for_all_of_them(older: list[Checkpoint]) -> None:
    (one,) = merge_checkpoints(older, count=count_tokens)
    assert one.tokens == count_tokens(one.summary) <= max(MIN_SUMMARY_TOKENS, int(MERGED_SHARE * one.birth_tokens))
    assert one.birth_tokens == sum(each.birth_tokens for each in older)
    assert one.original_tokens == sum(each.original_tokens for each in older)
    assert (one.first_id, one.last_id) == (older[0].first_id, older[-1].last_id)
    assert (one.last_at, one.digest, one.age) == (older[-1].last_at, older[-1].digest, OLDEST_AGE)
    assert one.provisional == any(each.provisional for each in older)
    assert one.number == 0 or [one] == older
    render_context([one]).encode()


def test_of_no_summaries_none_is_made() -> None:
    assert merge_checkpoints((), count=count_tokens) == ()


def test_the_stragglers_of_the_first_are_its_own_and_those_of_a_merged_one_are_within_its_run() -> None:
    text = "## Summary\n" + " ".join(f"Port {n} is open." for n in range(60))
    alone = checkpoint(1, text, stragglers=("early",))
    assert merge_checkpoints([alone], count=count_tokens)[0].stragglers == ("early",)
    assert merge_checkpoints([alone, checkpoint(2, text)], count=count_tokens)[0].stragglers == ()


def test_facts_of_every_summary_are_among_those_that_stay() -> None:
    older = [
        checkpoint(
            n, "## Context\n" + "\n".join(f"- Server {n}-{line} listens on port {n}0{line}" for line in range(9))
        )
        for n in range(1, 5)
    ]
    (one,) = merge_checkpoints(older, count=count_tokens)
    assert all(f"{n}0" in one.summary for n in range(1, 5))


def request(*turns: Turn, budget: int, system: int = 0) -> Transcript:
    return Transcript(turns=turns, window=Window(budget + 100, 100), system_tokens=system)


def numbered(number: int, tokens: int, **more: object) -> Turn:
    return replace(turn("words", role="assistant", number=number), tokens=tokens, **more)  # type: ignore[arg-type]


TURNS = (numbered(0, 500), numbered(1, 900), numbered(2, 100), numbered(3, 800))
COSTS = {"0": 20, "1": 20, "2": 20, "3": 20}


@pytest.mark.parametrize(
    ("budget", "chosen"),
    [
        (2_300, []),
        (2_299, ["0"]),
        (1_820, ["0"]),
        (1_819, ["0", "1"]),
        (900, ["0", "1", "2"]),
        (80, ["0", "1", "2", "3"]),
    ],
)
def test_the_oldest_results_go_first_the_last_group_last_and_no_more_than_needed(
    budget: int, chosen: list[str]
) -> None:
    assert list(results_to_omit(request(*TURNS, budget=budget), COSTS)) == chosen


def test_all_that_there_are_go_where_not_even_that_is_enough() -> None:
    assert results_to_omit(request(*TURNS, budget=10), COSTS) == COSTS


def test_results_of_pinned_messages_go_after_all_others_of_the_past() -> None:
    turns = (replace(TURNS[0], protected=True), *TURNS[1:])
    assert list(results_to_omit(request(*turns, budget=900), COSTS)) == ["1", "2", "0"]


def test_a_result_of_its_own_belongs_to_the_group_that_is_answered() -> None:
    turns = (*TURNS[:2], replace(TURNS[3], id="2"), replace(TURNS[2], id="3", role="tool"))
    assert list(results_to_omit(request(*turns, budget=1_320), COSTS)) == ["0", "1"]
    assert list(results_to_omit(request(*turns, budget=900), COSTS)) == ["0", "1", "2"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(5, 2_000), st.integers(1, 60)), max_size=30),
    st.integers(0, 9_000),
    st.floats(0.5, 2),
)
def test_what_is_left_out_is_enough_and_with_one_less_it_would_not_be(
    sizes: list[tuple[int, int]], budget: int, correction: float
) -> None:
    turns = tuple(numbered(number, tokens) for number, (tokens, _) in enumerate(sizes))
    costs = {str(number): bare for number, (tokens, bare) in enumerate(sizes) if bare < tokens}
    before = replace(request(*turns, budget=budget, system=50), window=Window(budget + 100, 100, correction))

    def over(ids: list[str]) -> bool:
        cheap = tuple(replace(one, tokens=costs[one.id]) if one.id in ids else one for one in turns)
        return usage_of(replace(before, turns=cheap)).over_budget

    chosen = list(results_to_omit(before, costs))
    assert not over(chosen) or set(chosen) == set(costs)
    assert not chosen or over(chosen[:-1])
