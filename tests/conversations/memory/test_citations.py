"""Where a summary's statements come from, and how that is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest

from compression.core.citations.check import cited
from compression.core.citations.claims import claims_in
from compression.core.citations.source_matching import sources_of
from compression.core.extractive.summariser import extract
from compression.core.text.terms import terms_of
from compression.core.tokens import count_tokens
from compression.core.values import Turn
from conversations.page.markup import citations
from tests.conftest import real_conversation
from tests.conversations.chat import START
from tests.timing import cpu_seconds

pytestmark = pytest.mark.once

SOURCES = (
    "We keep the archive in /var/backups/alpha/wal, the nightly job writes it.",
    "Agreed. Retries stay at 4, and the pool has 20 connections.",
    "The review by Priya is on Thursday; the pool of 20 may be too small then.",
    "Deploy on Thursday? Never restart it on Fridays.",
)


def rendered(summary: str, sources: Sequence[str]) -> str:
    """The summary with the numbers of its sources, as a compaction's page has it."""
    turns = [Turn(str(at), "user", text, START, count_tokens(text)) for at, text in enumerate(sources)]
    shown = {turn.id: (number, turn.content) for number, turn in enumerate(turns, start=1)}
    return citations.rendered(summary, cited(summary, turns), shown)


def test_a_statement_comes_from_the_message_that_has_its_facts() -> None:
    found = sources_of(["The WAL archive is /var/backups/alpha/wal", "retries = 4", "Priya reviews it"], SOURCES)
    assert found == [(0,), (1,), (2,)]


def test_what_is_said_word_for_word_comes_from_the_first_that_said_it() -> None:
    sources = ("So be it.", "never restart it  on FRIDAYS", "Never restart it on Fridays!", "We said it: never.")
    assert sources_of(["Never restart it on Fridays"], sources) == [(1,)]


def test_a_statement_of_two_messages_has_both_and_no_third() -> None:
    (found,) = sources_of(["Retries 4 and a pool of 20 connections; Priya reviews on Thursday"], SOURCES)
    assert found == (1, 2)


def test_a_word_in_common_is_no_source() -> None:
    statements = [
        "The archive is audited by seven lawyers from Lisbon before the merger closes in spring",
        "Priya bought a violin, sold her boat, and moved with two cats into a lighthouse near Bergen",
    ]
    assert sources_of(statements, SOURCES) == [(), ()]
    shorter = ["The nightly job writes the archive, which lawyers audit"]
    assert sources_of(shorter, SOURCES) == [(0,)], "half of a statement is more than a word"


@pytest.mark.parametrize(
    "statement", ["", "–", "the of and", "Something else entirely was decided", "They talked about it"]
)
def test_where_nothing_is_convincing_nothing_is_cited(statement: str) -> None:
    assert sources_of([statement], SOURCES) == [()]
    assert sources_of([statement], []) == [()]


@pytest.mark.parametrize("name", ["locomo/26.json", "locomo/43.json", "swe/pydicom-1458.json"])
def test_statements_of_a_real_conversations_summary_are_cited_and_rightly_so(name: str) -> None:
    messages = real_conversation(name)["messages"]
    texts = [str(message["content"]) for message in messages]
    turns = [
        Turn(str(at), "user", text, START + timedelta(minutes=at), count_tokens(text)) for at, text in enumerate(texts)
    ]
    summary = extract(turns, earlier="", max_tokens=500, count=count_tokens)
    sources = [{term.text for term in terms_of(text)} for text in texts]
    # A greeting of three words stands in many messages, and cites none.
    statements = [claim.text for claim in claims_in(summary) if len(claim.text.split()) > 3]
    # The rarest of a statement's terms that any message has; what shares nothing with them cannot be cited.
    rarest: dict[str, str] = {}
    for statement in statements:
        told = {term.text: sum(term.text in source for source in sources) for term in terms_of(statement)}
        if known := [text for text, count in told.items() if count]:
            rarest[statement] = min(known, key=told.__getitem__)
    found = {
        statement: places
        for statement, places in zip(statements, sources_of(statements, texts), strict=True)
        if places and statement in rarest
    }
    right = [one for one, places in found.items() if any(rarest[one] in sources[place] for place in places)]
    assert len(rarest) > 15
    assert len(found) / len(rarest) > 0.9
    assert len(right) / len(found) > 0.9


def test_a_thousand_sources_are_looked_through_in_no_time() -> None:
    texts = [f"Message {n}: service-{n} listens on port {5000 + n}. " + f"and word{n % 90} " * 60 for n in range(1_000)]
    statements = [f"service-{n} has port {5000 + n}" for n in range(0, 1_000, 10)]
    assert sources_of(statements, texts) == [(n,) for n in range(0, 1_000, 10)]
    assert cpu_seconds(lambda: sources_of(statements, texts), rounds=3) < 0.6


def test_each_bullet_and_each_sentence_has_its_numbers() -> None:
    html = rendered(
        "## Archive\nIt is in **/var/backups/alpha/wal**. Retries stay at 4!\nNothing else.\n\n- Priya reviews\n- –\n",
        SOURCES,
    )
    assert re.findall(r'href="(#source-\d)"', html) == ["#source-1", "#source-2", "#source-3"]
    assert re.sub(r"<[^>]*>", "", html.replace('<span class="unseen">Source </span>', "^")).split("\n")[:2] == [
        "Archive",
        "It is in /var/backups/alpha/wal.^1 Retries stay at 4!^2",
    ]
    assert 'title="We keep the archive in /var/backups/alpha/wal, the nightly job writes it."' in html


@pytest.mark.parametrize(
    "words",
    [
        '<img src=x onerror="alert(1)">',
        "[port 5433](javascript:alert(1))",
        '[port 5433](http://x "a title" onclick=alert(1))',
        '"><script>alert(5433)</script>',
        "`port 5433`\n\n```html\n<b onclick=x>5433</b>\n```",
        "**port [5433",
    ],
)
def test_neither_a_summary_nor_its_sources_bring_in_what_is_not_safe(words: str) -> None:
    html = rendered(f"- {words} and port 5433\n- <i id=x>{words}</i>\n", [f"{words} on port 5433", words * 40])
    for tag, attributes in re.findall(r'<([a-z]+)((?:\s[a-z]+="[^"]*")*)\s?>', html):
        assert tag in ("ul", "li", "a", "span", "strong", "code", "pre", "p", "div", "button")
        assert set(re.findall(r'\s([a-z]+)="', attributes)) <= {"href", "title", "class", "rel", "target", "type"}
        assert not re.search(r'href="(?!#source-|http)', attributes)
    assert "<script" not in html and "<img" not in html and "<i id" not in html


def test_a_very_long_summary_is_shown_as_it_is() -> None:
    assert 'class="plain"' in rendered("- port 5433\n" * 5_000, ["port 5433"])


@pytest.mark.parametrize(
    "nothing",
    ["Files: none", "none", "None.", "*None*", "**Files:** None so far", "N/A", "No files changed", "Decisions: n/a",
     "No decisions were made.", "Nothing else", "Open questions: none mentioned.", "Not applicable"],
)  # fmt: skip
def test_a_section_that_holds_none_has_no_source(nothing: str) -> None:
    said = re.sub(r"\*", "", nothing)
    sources = (f"{said} is what we have of files: none, no decisions were made", "Retries stay at 4.")
    html = rendered(f"## Files\n- {nothing}\n- Retries stay at 4.\n", sources)
    assert re.findall(r'href="(#source-\d)"', html) == ["#source-2"]


@pytest.mark.parametrize(
    "claim", ["None of the retries may be removed", "No files changed but /etc/hosts was lost", "Deployed it: no"]
)
def test_what_begins_like_none_and_says_something_has_its_source(claim: str) -> None:
    assert 'href="#source-1"' in rendered(f"- {claim}\n", (claim, "Another thing."))
