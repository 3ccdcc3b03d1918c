"""Every reader of others' texts, with texts that make readers slow: pieces repeated, between a word and a letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from itertools import product

from compression.core import goal
from compression.core.citations import check, claims
from compression.core.extractive import segmentation, summary_notes, trimming
from compression.core.extractive.summariser import extract
from compression.core.facts import file_acts, file_lines, summary_quality
from compression.core.facts.find import find_facts
from compression.core.ledger import own_words, rules, topics, withdrawals
from compression.core.ledger.find import find_entries
from compression.core.recall import recall
from compression.core.stages import answered_requests
from compression.core.text import (
    day_terms,
    index_terms,
    listings,
    sentences,
    statements,
    terms,
    tool_arguments,
)
from compression.core.text import relative_dates as dates
from compression.core.text.summary_forms import clean, without_closing
from compression.core.tokens import count_tokens
from compression.core.values import Passage, ToolUse, Turn

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MARKS = tuple(".…!-*_`#>|\\/:;,'\"()[]<>@%$。「“‘«")
WORDS = (" ", "\t", "\n", " \n", "a", "A", "1", "a ", "1 ", "never ", "not ", "x.", "- ", "- [ ] ", "||", "`a", "1.")
BEGINNING = "The port is "
SCRIPTS = ("界", "界 ", "あ", "ก", "é", "ß", "界1", "a界")
PIECES = (*MARKS, *WORDS, *SCRIPTS, "[CHECKPOINT]", "<think>", "</think>")
"""Letters, digits, marks, blanks, brackets, scripts without spaces, and beginnings of what readers look for."""


def texts(size: int, pieces: tuple[str, ...] = PIECES) -> Iterator[tuple[str, str]]:
    """(name, text of about `size` characters) for each pair of pieces, one of each pair of equal ones."""
    for first, second in product(pieces, pieces):
        pair = first if first == second else first + second
        yield repr(pair), made(pair, size)


def made(pair: str, size: int) -> str:
    return BEGINNING + pair * max(1, size // len(pair)) + "x"


def _turn(text: str) -> Turn:
    return Turn("1", "user", text, START, len(text) // 4)


def _call(name: str, **arguments: str) -> ToolUse:
    return ToolUse("c", name, json.dumps(arguments), "ok")


def _turn_of_model(text: str) -> Turn:
    return Turn("2", "assistant", text, START, len(text) // 4)


def _passage(text: str) -> Passage:
    turn = _turn("The port of node-7 is 5433.")
    return Passage((turn,), "", "", 500, 3)


READERS: dict[str, Callable[[str], object]] = {
    "own_sentences": lambda text: list(own_words.own_sentences(text)),
    "find_entries": lambda text: find_entries(text),
    "taking_back": lambda text: withdrawals.taking_back(text),
    "topic_of": topics.topic_of,
    "find_rules": lambda text: list(rules.find_rules(text)),
    "find_facts": lambda text: find_facts([statements.Statement(text, "User", date(2026, 3, 2))]),
    "sentences": sentences.sentences,
    "one_line": sentences.one_line,
    "whole": sentences.whole,
    "pieces_of": segmentation.pieces_of,
    "terms_of": terms.terms_of,
    "index_terms": index_terms.index_terms,
    "resolve": lambda text: dates.resolve(text, date(2026, 3, 2)),
    "notes_of_summary": lambda text: summary_notes.notes_of_summary(
        f"## Summary\nA.\n\n## Context\n{text}", count_tokens
    ),
    "extract": lambda text: extract([_turn(text)], earlier="", max_tokens=300, count=count_tokens),
    "clean": clean,
    "accepted": clean,
    "closing": without_closing,
    "parse_marks": goal.parse_marks,
    "claims": lambda text: claims.claims_in(f"## Summary\n{text}"),
    "unfound": lambda text: check.unfound_in(f"## Summary\n{text}", [_turn("The port is 5433.")]),
    "said": lambda text: check.unfound_in("## Summary\nThe port is 5433.", [_turn(text)]),
    "trimmed": lambda text: trimming.trimmed(f"## Summary\n{text}", (), max_tokens=200, count=count_tokens),
    "substance": lambda text: _substance(text),
    "file_acts of a command": lambda text: file_acts.file_acts(_call("Bash", command=text)),
    "plain_arguments": lambda text: tool_arguments.plain_arguments(json.dumps({"text": text, "command": text})),
    "file_acts of a patch": lambda text: file_acts.file_acts(_call("apply_patch", input=f"*** Update File: {text}")),
    "day_terms": lambda text: day_terms.day_terms(text, date(2026, 3, 2)),
    "with_files": lambda text: file_lines.with_files(
        f"## Files\n- {text}", {text: "edited"}, budget=9, count=count_tokens
    ),
    "answered": lambda text: answered_requests.without_answered(
        f"## State\nPending: {text}", [_turn(text), _turn_of_model("Done.")]
    ),
    "answered_heading": lambda text: answered_requests.without_answered(
        f"##{text.removeprefix(BEGINNING)}{'x' * 100}",
        [_turn("Restart the database of node-7."), _turn_of_model("Done.")],
    ),
    "query_of": lambda text: recall.query_of(text, [text]),
    "speakers_asked_about": lambda text: recall.speakers_asked_about(text, ["Ada"]),
    "listings": lambda text: (listings.without_listings(text), listings.shortened_listings(text)),
    "count_tokens": count_tokens,
}


def _substance(text: str) -> None:
    from compression.core.errors import CompactionFailed

    try:
        summary_quality.require_substance(f"## Summary\n{text}", _passage(text), facts=())
    except CompactionFailed:
        return
