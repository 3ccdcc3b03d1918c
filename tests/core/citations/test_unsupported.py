"""Statements of a summary that no message supports are told from paraphrases, marked, left out or kept."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.core.citation_values import as_json, from_json
from compression.core.citations.check import cited, marked, unfound_in, unsupported, without_unsupported
from compression.core.citations.claims import claims_in
from compression.core.citations.marks import MARK, without_marks
from compression.core.errors import CompactionFailed
from compression.core.extractive.summariser import Extractive, extract
from compression.core.plan.policy import Policy
from compression.core.tokens import count_tokens
from compression.core.values import Checkpoint, Draft, Passage, SummariserOutput, Transcript, Turn
from tests.core.conversations import dialogue, real, turn
from tests.core.test_pipeline import Scripted, run, talk, transcript_of
from tests.core.test_strategies import Chat

SAID = dialogue(
    "Jane Roe moved the billing service to port 8443 on 3 March, see /srv/billing/app.toml and getUserName.",
    'Noted: the budget is $1,250.50, about 94.7 % of it is spent; "never on a Friday" is her rule.',
    "It took ninety minutes and twenty-five people. Deploy to https://staging.example.com/billing at 2:30 pm.",
    "The parser is version 3.11.2 on 10.0.0.17:5433, and it raises KeyError in half of the runs since yesterday.",
)

TRUE = (
    "Port 8443 serves billing since Jane's move",
    "Billing config: app.toml",
    "get_user_name is called",
    "Budget 1250.50 dollars, 95 % spent",
    "1.25k dollars",
    "It took 1.5 hours and 25 people",
    "It took 90 min",
    "The deployment goes to staging.example.com at 14:30",
    "Python 3.11 raises a KeyError in 50 % of the runs",
    "10.0.0.17 listens on 5433",
    'Jane said "never on Friday" about it',
    "On 2026-03-03 it was moved",
    "It fails since 1 March 2026",
    "They talked about it at length and agreed",
    "The User asked on Monday, the Assistant answered in March",
    "CI and QA know of it",
    "Two decisions, 4 files, 3 people",
    "None",
)
FALSE = {
    "Port 9443 serves billing": "9443",
    "Billing config: /srv/billing/other.yaml": "/srv/billing/other.yaml",
    "get_user_mail is called": "get_user_mail",
    "The budget is $7,300": "$7,300",
    "About 31 % of it are spent": "31 %",
    "It took 45 minutes": "45 minutes",
    "Deploy to https://prod.example.org/pay": "https://prod.example.org/pay",
    "Deploy at 4:15 pm": "4:15 pm",
    "The parser is version 3.12.9": "3.12.9",
    "It raises TimeoutError": "TimeoutError",
    "He lives with Gwendolyn there": "Gwendolyn",
    "The move was on 17 September 2019": "17 September 2019",
    'Jane said "ship everything tonight whatever happens" about it': "ship everything tonight whatever happens",
}


def unfound(text: str, turns: Sequence[Turn] = tuple(SAID), **more: object) -> frozenset[str]:
    summary = (
        "## Summary\nThis is what they said about it, and it is all that there was for them to do with the others.\n"
    )
    return unfound_in(f"{summary}- {text}\n", turns, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("statement", TRUE)
def test_a_paraphrase_is_never_marked(statement: str) -> None:
    assert unfound(statement) == frozenset()


@pytest.mark.parametrize("statement", FALSE)
def test_what_no_message_says_is_noticed(statement: str) -> None:
    assert FALSE[statement] in unfound(statement)
    assert unfound(statement, [*SAID, turn(statement, number=9)]) == frozenset(), "once it is said it is supported"


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        (
            "Der Dienst läuft auf Anschluss 8443, sagt Frau Müller.",
            "Anschluss 8443 ist laut Müller der Ort des Dienstes",
        ),
        ("服务在端口八千四百四十三上运行,预算三百万。", "端口 8443,预算 300万,即 3,000,000"),
        ("Il y a vingt personnes, le budget est de 1.250,50 €.", "Budget : 1250,50 € pour 20 personnes"),
        ("Сервис работает на порту ８４４３.", "Порт сервиса: 8443"),
    ],
)
def test_other_languages_and_ways_to_write_numbers(said: str, summary: str) -> None:
    assert unfound_in(summary, dialogue(said)) == frozenset()
    assert unfound_in(f"{summary}, 7719", dialogue(said)) == frozenset(("7719",))


def test_german_nouns_are_no_names() -> None:
    said = dialogue("Wir haben das gestern auf 8443 gelegt, und es ist noch nicht fertig, aber die Kollegen sind dran.")
    summary = "- Die Umstellung ist noch nicht fertig, und der Ausbau wird auch von den Mitarbeitern auf 8443 gemacht"
    assert unfound_in(summary, said) == frozenset()


def test_a_summary_that_was_steered_may_be_in_another_language() -> None:
    said = dialogue("On a déplacé le service vers 8443, dit Jeanne de la Comptabilité.")
    text = 'Jeanne of Accounting said "we moved the service there" on 8443, not 9443'
    assert unfound(text, said, is_steered=True) == frozenset(("9443",))


def test_the_earlier_summary_supports_and_what_was_doubted_there_does_not() -> None:
    earlier = f"## Summary\nPort 7001 is the old one, 7002 the new {MARK}."
    assert unfound("From 7001 to 7002", beside=(earlier,)) == frozenset()
    doubted = frozenset(("7002",))
    assert unfound("From 7001 to 7002", beside=(earlier,), doubted=doubted) == doubted
    assert unfound("To 7002", [*SAID, turn("7002 it is", number=9)], beside=(earlier,), doubted=doubted) == frozenset()


def test_a_mark_stands_before_the_full_stop_and_goes_without_a_trace() -> None:
    text = (
        "## Summary\nPort 9443 it is. The port was 8443.\n\n## State\n- **Gwendolyn at 9443.**\n"
        "- Uses `run --port 9443`\n- [9443](http://x.example)\n| a | 9443 |\n```\n9443\n```\n"
    )
    found = marked(text, frozenset(("9443",)))
    assert f"Port 9443 it is {MARK}. The port was 8443.\n" in found
    assert f"- **Gwendolyn at 9443 {MARK}.**\n" in found
    assert (
        f"- Uses `run --port 9443` {MARK}\n- [9443](http://x.example) {MARK}\n| a | 9443 {MARK} |\n```\n9443\n" in found
    )
    assert without_marks(found) == text
    assert marked(found, frozenset(("9443",))) == found
    assert found.count(MARK) == 5 and count_tokens(f" {MARK}") <= 7


def test_what_is_left_out_leaves_no_empty_lines() -> None:
    text = "## Summary\nPort 9443 it is. The port was 8443.\n\n## State\n- Next: ask at 9443\n- Done: all\n1. 9443\n"
    left, dropped = without_unsupported(text, frozenset(("9443",)))
    assert left == "## Summary\nThe port was 8443.\n\n## State\n- Done: all\n"
    assert dropped == 3


def test_kept_facts_and_notes_of_what_was_left_out_are_the_messages_own() -> None:
    text = "## Summary\n239 messages omitted, stored in full.\n\n## Kept facts\n- User, 2026-01-01: … 9443 …\n"
    assert unfound_in(text, SAID) == frozenset()
    assert unsupported(claims_in(text), frozenset(("9443", "239"))) == {}


CHATS = ["locomo/26.json", "locomo/43.json", "swe/pydicom-1458.json", "swe/ctf-i-got-id.json", "beam/1.json"]


@pytest.mark.parametrize("name", CHATS)
@pytest.mark.parametrize("tokens", [200, 500, 1_500, 4_000])
def test_selected_sentences_of_real_chats_raise_no_false_alarm(name: str, tokens: int) -> None:
    turns = real(name)
    summary = extract(turns, earlier="", max_tokens=tokens, count=count_tokens)
    assert unfound_in(summary, turns) == frozenset()


PIECES = (
    *(
        "the port of billing is 8443",
        "Jane Roe",
        "moved it to /srv/app/main.py",
        "on 3 March 2024,",
        "half",
        "1,250.50",
    ),
    *("$7,300", "getUserName", "v3.11.2", "10.0.0.17:5433", "KeyError", '"never on a Friday"', "端口", "八千", "9"),
    *("Anschluss", ":", ";", "(", ")", "**", "`", "-", "#", "é", ". ", "and", "2.0.19", "x:6:12:man", "0x1f", "#12"),
)
WORDS = st.sampled_from(PIECES)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=25).map(" ".join), min_size=1, max_size=6))
def test_whatever_is_said_is_found_where_it_was_said(texts: list[str]) -> None:
    turns = dialogue(*texts)
    for summary in ("\n".join(texts), extract(turns, earlier="", max_tokens=300, count=count_tokens)):
        assert unfound_in(summary, turns) == frozenset()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["8443", "Jane", "x"]))
def test_marks_come_and_go_in_any_text(text: str, doubted: str) -> None:
    bare = without_marks(text)
    whole = marked(f"{bare}\n- {doubted} and 8443.", frozenset(("8443",)))
    assert without_marks(whole) == f"{bare}\n- {doubted} and 8443."
    assert marked(whole, frozenset(("8443",))) == whole


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_statements_stand_in_their_text_in_order(text: str) -> None:
    end = 0
    for claim in claims_in(text):
        assert end <= claim.start < claim.end <= len(text)
        assert text[claim.start : claim.end].strip() == text[claim.start : claim.end] != ""
        end = claim.end


def test_citations_are_saved_and_read() -> None:
    summary = "## Summary\nPort 8443 serves billing. Port 9443 does not.\n"
    found = cited(summary, SAID, unfound=frozenset(("9443",)))
    assert found.ids_of(0) == ("0",) and found.ids_of(1) == () and found.missing == {1: ("9443",)}
    assert (found.said, found.unsupported) == (2, 1)
    assert from_json(as_json(found)) == found and from_json(as_json(None)) is None


@pytest.mark.parametrize("size", [200_000])
def test_two_hundred_thousand_characters_are_checked_in_seconds(size: int) -> None:
    words = "Jane Roe put service-{0} on port {0} in /srv/app{0}/main.py on 3 March 2024. "
    said = "".join(words.format(number) for number in range(10_000, 10_000 + size // 70))
    summary = "".join(f"- {words.format(number)}\n" for number in range(11_000, 11_000 + size // 70))
    turns = [replace(turn(said, number=0), created_at=turn("x").created_at + timedelta(days=at)) for at in range(3)]
    began = time.process_time()
    found = unfound_in(summary, turns)
    citations = cited(summary, turns, unfound=found)
    assert time.process_time() - began < 12
    assert 900 < citations.unsupported < citations.said


# In a compaction


MADE_UP = "## Summary\nThey spoke of port 5000. Gwendolyn took port 9999.\n\n## State\n- Done: message 3, 5003"


class Inventive(Scripted):
    """A model that adds to what it reads what nobody said."""

    async def summarise(self, passage: Passage) -> SummariserOutput:
        await super().summarise(passage)
        told = ". ".join(re.findall(r"message \d+ about port \d+", passage.text)[:3]) or "They talked on"
        return SummariserOutput(f"## Summary\n{told}. Gwendolyn took port 9999.\n\n## State\n- Done: all")


def compacted(text: str, policy: Policy | None = None, **more: object) -> Draft:
    return run(transcript_of(talk(40)), Scripted(text, marks_progress=True), policy, **more)  # type: ignore[arg-type]


def test_a_made_up_statement_is_marked_for_the_model_and_counted() -> None:
    draft = compacted(MADE_UP)
    newest = draft.checkpoints[-1]
    assert f"They spoke of port 5000. Gwendolyn took port 9999 {MARK}." in draft.context
    assert newest.tokens == count_tokens(newest.summary), "the mark's tokens are the summary's"
    assert newest.citations is not None and newest.citations.unsupported == 1
    assert "9999" in newest.citations.missing[1]
    assert newest.citations.ids_of(0) and newest.citations.dropped == 0


def test_it_is_left_out_before_facts_are_put_back() -> None:
    draft = compacted(MADE_UP, Policy(unsupported="drop"))
    citations = draft.checkpoints[-1].citations
    assert "9999" not in draft.context and MARK not in draft.context and "They spoke of port 5000." in draft.context
    assert citations is not None and (citations.unsupported, citations.dropped) == (0, 1)
    assert "## Kept facts" in draft.summary


def test_it_is_kept_as_it_is_and_counted_all_the_same() -> None:
    draft = compacted(MADE_UP, Policy(unsupported="keep"))
    citations = draft.checkpoints[-1].citations
    assert "Gwendolyn took port 9999." in draft.context and MARK not in draft.context
    assert citations is not None and citations.unsupported == 1


def test_a_summary_that_loses_everything_is_refused() -> None:
    text = "## Summary\nGwendolyn took port 9999.\n\n## State\n- Next: port 9997"
    with pytest.raises(CompactionFailed):
        compacted(text, Policy(unsupported="drop"))
    assert compacted(text, Policy(unsupported="keep")).summary


def test_what_is_judged_is_the_summary_without_what_was_dropped() -> None:
    text = "## Summary\nPort 9999 and port 5000, port 5001, port 5002.\n\n## State\n- Done: the talk"
    kept, dropped = (compacted(text, Policy(unsupported=choice)).retention for choice in ("keep", "drop"))
    assert kept.own >= 3 and dropped.own == 0


def test_a_selection_of_sentences_and_a_model_s_true_words_have_no_mark() -> None:
    assert MARK not in run(transcript_of(talk(40)), Extractive()).context
    draft = compacted("## Summary\nPorts 5000 to 5003 came up.\n\n## State\n- Done: message 4")
    assert MARK not in draft.context and draft.checkpoints[-1].citations.unsupported == 0  # type: ignore[union-attr]


def test_marks_never_push_a_summary_over_its_length() -> None:
    body = "\n".join(f"- Gwendolyn took port {9000 + number}" for number in range(60))
    text = f"## Summary\nThey spoke of port 5000.\n\n## Context\n{body}\n"
    for tokens in (100, 200, 300):
        draft = compacted(text, Policy(summary_max_tokens=tokens))
        assert count_tokens(draft.summary) <= draft.limit
        assert draft.context_tokens <= draft.room + 4
        for line in draft.summary.splitlines():
            assert "Gwendolyn" not in line or MARK in line


@pytest.mark.parametrize("strategy", ["rolling", "continuation", "checkpoints"])
def test_marks_neither_grow_nor_get_lost_over_many_compactions(strategy: str) -> None:
    summariser = Inventive(marks_progress=True)
    chat = Chat(policy=Policy(strategy=strategy))  # type: ignore[arg-type]
    for _ in range(6):
        chat.say(14)
        chat.compact(summariser)
    shown = [text for passage in summariser.shown for text in (passage.earlier, passage.text)]
    assert MARK not in "\n".join(shown), "no mark is summarised"
    for checkpoint in chat.checkpoints:
        assert checkpoint.citations is not None
        claims = claims_in(without_marks(checkpoint.summary))
        assert checkpoint.summary.count(MARK) == checkpoint.citations.unsupported
        assert sum("9999" in claim.text for claim in claims) == checkpoint.citations.unsupported
        assert f"{MARK} {MARK}" not in checkpoint.summary and f"{MARK}{MARK}" not in checkpoint.summary


def test_between_compactions_a_marked_summary_stays_byte_for_byte() -> None:
    chat, seen = Chat(), list[Checkpoint]()
    for _ in range(3):
        chat.say(14)
        chat.compact(Inventive(marks_progress=True))
        if seen and chat.checkpoints[: len(seen)] and chat.checkpoints[0].number == seen[0].number:
            assert chat.checkpoints[0].summary == seen[0].summary
        seen = list(chat.checkpoints)
    assert compacted(MADE_UP).context == compacted(MADE_UP).context


def test_a_statement_of_an_earlier_summary_leads_to_its_messages() -> None:
    chat = Chat(policy=Policy(strategy="rolling"))
    chat.say(14)
    chat.compact(Scripted("## Summary\nmessage 1 was about port 5001.\n\n## State\n- Done: all", marks_progress=True))
    chat.say(14)
    chat.compact(Scripted("## Summary\nmessage 1 was about port 5001.\n\n## State\n- Done: it", marks_progress=True))
    (only,) = chat.checkpoints
    assert only.citations is not None and only.citations.ids_of(0) == ("1",)


def test_a_marked_statement_that_is_said_later_loses_its_mark() -> None:
    chat = Chat(policy=Policy(strategy="rolling"))
    chat.say(14)
    chat.compact(Inventive(marks_progress=True))
    assert MARK in chat.checkpoints[0].summary
    chat.say(14, words="Gwendolyn took port 9999 " + "and so on " * 20)
    chat.compact(Inventive(marks_progress=True))
    assert "9999" in chat.checkpoints[0].summary and MARK not in chat.checkpoints[0].summary


def test_no_transcript_is_too_odd() -> None:
    odd = Transcript((), transcript_of(talk(1)).window)
    assert unfound_in("- port 9999", odd.turns) == frozenset(("9999",))
