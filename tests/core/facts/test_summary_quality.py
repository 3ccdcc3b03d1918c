"""Summaries that say nothing never replace anything; good ones are never refused for their words."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compression.core.errors import CompactionFailed
from compression.core.extractive.summariser import extract
from compression.core.facts.summary_quality import domination, repetition, require_substance, words_of
from compression.core.stages.prepare import render_transcript
from compression.core.tokens import count_tokens
from compression.core.values import Passage, Turn
from tests.core.conversations import dialogue, real
from tests.core.test_pipeline import Scripted, run, talk, transcript_of, turn

GERMAN = "Der Dienst für Rechnungen läuft jetzt auf Anschluss 8443, weil 443 belegt ist."
CHINESE = "账单服务现在运行在端口8443上,因为443已被占用。我们明天部署到新集群。"
CODE = "def bill(port: int = 8443) -> None:\n    serve(port)  # 443 is taken"
LOG = "\n".join(f"2026-03-02 09:{n:02}:00 ERROR billing: connection refused by 10.0.0.{n}" for n in range(60))


def passage(*turns: Turn, instructions: str = "") -> Passage:
    return Passage(
        turns=turns,
        text=render_transcript(turns),
        earlier="",
        max_tokens=500,
        level=2,
        instructions=instructions,
        goal="",
        prompt="",
    )


def told(text: str) -> Passage:
    return passage(*dialogue(text, "Understood."))


def headed(body: str, state: str = "all") -> str:
    return f"## Summary\n{body}\n\n## State\n- Done: {state}"


@pytest.mark.parametrize(
    "garbage",
    [
        "x " * 12_000,
        "x\n" * 30,
        "port " * 400,
        "we moved billing to port 8443 and " * 60,
        "The service was moved. " + "and then it was, and then it was, " * 80,
        "的" * 400,
        "端口端口" * 100,
        "! ? … " * 300,
        "lorem ipsum dolor sit amet consectetur adipiscing elit",
        "ะ" * 300,
        "x " * 239,
        "We moved billing to port 8443. " * 4,
        "We moved billing to port 8443. " * 8,
        "- We moved billing to port 8443.\n" * 4,
        "服务现在在端口8443上。" * 6,
    ],
)
def test_garbage_under_good_headings_is_refused(garbage: str) -> None:
    with pytest.raises(CompactionFailed, match=r"the summary (repeats itself|says nothing|has nothing from)"):
        require_substance(headed(garbage, "-"), told("We moved billing to port 8443 because 443 is taken."))


@pytest.mark.parametrize(
    ("source", "garbage"),
    [
        ("x " * 2_000, "x " * 239),
        ("lorem " * 2_000, "x " * 239),
        ("lorem " * 2_000, "lorem " * 239),
        ("the service is fine and so on " * 200, "port ports porting " * 80),
        ("and so on " * 500, "and so on " * 200),
    ],
)
def test_a_source_that_repeats_itself_excuses_no_garbage(source: str, garbage: str) -> None:
    with pytest.raises(CompactionFailed, match=r"the summary (repeats itself|says nothing)"):
        require_substance(headed(garbage), told(source))


FACTS = (
    "We moved billing to port 8443 on 2 March 2026, see /srv/billing/settings.py. Set max_pool_size to 20 connections. "
    "Never deploy on Fridays. It raised PoolTimeoutError for Amy Ellis Nutt and cost $1,200.50."
)


@pytest.mark.parametrize(
    "empty",
    [
        "They spoke about the service, made good progress, and agreed how to go on from here.",
        "The user asked the assistant for help, and the assistant helped the user.",
        "We discussed moving things around and what it would take.",
    ],
)
def test_a_summary_without_any_fact_of_a_source_that_has_several_is_refused(empty: str) -> None:
    with pytest.raises(CompactionFailed, match="no fact"):
        require_substance(headed(empty), told(FACTS))
    require_substance(headed(empty), told("We spoke about the service, and agreed how to go on with the user."))
    require_substance(headed(empty), passage(*dialogue(FACTS), instructions="No names, no numbers."))


@pytest.mark.parametrize(
    "told_otherwise",
    [
        "Billing listens on 8443 now.",
        "They moved it in March 2026.",
        "The settings of the service were changed.",
        "The pool's max size was changed.",
        "A pool timeout was seen.",
        "Nutt was told about it.",
        "It cost 1200 dollars.",
        "There is no deploying on a Friday.",
    ],
)
def test_a_fact_in_other_words_is_a_fact(told_otherwise: str) -> None:
    require_substance(headed(f"They spoke about the service. {told_otherwise}"), told(FACTS))


def test_a_summary_of_many_passages_needs_a_fact_of_any_of_them_in_the_end() -> None:
    history = tuple(
        turn(number, content=f"Ticket ABC-{number} is open in src/part{number}.py since then. " * 4)
        for number in range(40)
    )
    bland = headed("They spoke about the ticket that is open since then.")
    with pytest.raises(CompactionFailed, match="no fact"):
        run(transcript_of(history), Scripted(bland, marks_progress=True, window=2_500))
    good = headed("They spoke about the ticket ABC-3 that is open since then.")
    assert "ABC-3" in run(transcript_of(history), Scripted(good, marks_progress=True, window=2_500)).summary


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("We moved billing to 8443.", "Billing moved to port 8443."),
        ("hi", "A greeting."),
        (GERMAN, "Rechnungen laufen auf 8443, da 443 belegt ist."),
        (CHINESE, "账单服务改用端口8443,明天部署。"),
        (CODE, "`bill` serves on 8443, as 443 is taken."),
        (LOG, "\n".join(f"- 10.0.0.{n}: connection refused to billing" for n in range(60))),
        ("ご注文の件ですが、明日発送します。", "明日発送する。"),
        ("Das Passwort ist geheim", "Password kept."),
        ("Fix the tests.", "\n".join(f"- src/part{n}.py: fixed the failing test" for n in range(8))),
        ("Fix the tests.", "\n".join(f"- Step {n} is done and tested" for n in range(8))),
    ],
)
def test_a_good_summary_is_taken_in_any_language_and_of_any_length(source: str, summary: str) -> None:
    require_substance(headed(summary), told(source))


def test_one_that_a_person_wants_in_other_words_may_share_none_with_its_source() -> None:
    other = headed("Le service de facturation utilise désormais un autre numéro réseau", "tout")
    require_substance(other, passage(*dialogue("Billing has moved elsewhere."), instructions="In French, please."))
    with pytest.raises(CompactionFailed, match="repeats itself"):
        require_substance(headed("oui " * 300), passage(*dialogue("Billing moved."), instructions="In French."))


@pytest.mark.parametrize(
    "name", ["locomo/26.json", "beam/1.json", "swe/marshmallow-1867.json", "swe/ctf-i-got-id.json"]
)
@pytest.mark.parametrize("tokens", [100, 500, 1_500])
def test_summaries_of_real_conversations_are_far_from_what_is_refused(name: str, tokens: int) -> None:
    turns = real(name)
    for start in range(0, min(len(turns), 160), 40):
        part = tuple(turns[start : start + 40])
        summary = extract(part, earlier="", max_tokens=tokens, count=count_tokens)
        require_substance(summary, passage(*part))
        words = words_of(summary)
        assert domination(words) < 0.3
        assert len(words) < 60 or repetition(words) < 0.4


@given(
    st.lists(
        st.text(st.characters(categories=["L", "N"]), min_size=2, max_size=9), min_size=6, max_size=80, unique=True
    )
)
def test_the_words_of_the_source_in_any_order_are_never_refused(words: list[str]) -> None:
    said = " ".join(words)
    require_substance(headed(" ".join(reversed(words))), told(said))


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12), st.integers(200, 2_000))
def test_whatever_is_said_over_and_over_is_refused(piece: str, times: int) -> None:
    with pytest.raises(CompactionFailed):
        require_substance(headed(f"{piece} " * times), told("We moved billing to port 8443 because 443 is taken."))


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_text_is_more_than_refused(summary: str, source: str) -> None:
    turn = Turn("1", "user", source, datetime(2026, 1, 1, tzinfo=UTC), 10)
    try:
        require_substance(summary, passage(turn))
    except CompactionFailed as failure:
        assert failure.stage == "validate"


@pytest.mark.parametrize("text", ["x " * 500_000, "的" * 500_000, "a_" * 500_000, "#\n" * 300_000, " " * 900_000])
def test_a_million_characters_are_judged_at_once(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(CompactionFailed):
        require_substance(text, told("We moved billing."))
    assert time.process_time() - began < 5


def test_a_models_garbage_never_becomes_a_summary() -> None:
    with pytest.raises(CompactionFailed, match="repeats itself"):
        run(transcript_of(talk(20)), Scripted(headed("x " * 12_000), marks_progress=True))
