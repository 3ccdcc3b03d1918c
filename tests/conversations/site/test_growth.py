"""What the site reads of others' texts takes time in proportion to their length, or is ended in another process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from compression.core.citations.check import cited, marked, unfound_in
from compression.core.recall import recall
from compression.core.text.index_terms import index_terms
from compression.core.values import Turn
from conversations.agents.tools import calculator
from conversations.errors import Invalid
from conversations.exchange.json_stream import entries
from conversations.llm.tools import ToolFailed
from conversations.messages import search
from conversations.messages.search_terms import MARKS, excerpt, in_a_line, terms_of
from conversations.messages.text_files import read_text_file
from conversations.models import Conversation, Message, User
from conversations.page.api_docs import CODE
from conversations.page.markup import citations, streaming
from conversations.page.markup.diff import diff
from conversations.page.markup.markdown import MAX_MARKDOWN, html_of
from conversations.runtime.substring_lookup import holds
from conversations.turns import titles
from conversations.validation import parse_json
from tests.conversations.chat import START
from tests.growth import growth, repeated
from tests.timing import cpu_seconds

pytestmark = pytest.mark.once
MESSAGE = 200_000
"""Characters of the longest message."""
MINUTE = timedelta(minutes=1)
FRAGMENTS = (
    *(" ", "\t", "\n", "a", "a ", "1", ".", "-", "- ", "* ", "*", "**", "_", "`", "```\n", "~", "|", "|-", "|a"),
    *("||\n", "[", "]", "[]", "[a](", "![", "(", ")", "<", "<a", "<!--", "&", "&#", "\\", "\\(", "$", "$a", "$$"),
    *("$$\n", "\\[", "#", "# ", ">", "> ", "1. ", "a. ", "~~", "===\n", "---\n", "|a|\n|-|\n", "http://", "@"),
    *("a@b.", "é", "漢", "\u200b", '"', "'", "{", "}", ":", ",", "[x] ", "- [ ] ", "a_b_", "*a_", "**a*", "[[]("),
    *(
        "`a``",
        "![a](b",
        "\r\n",
        "0.",
        "/",
        "https://a",
        "<b>",
        "</b>",
        "[^1]",
        "•\n",
        "文**",
        "\\begin{align}",
        "\ue200",
    ),
)
"""What texts are made of that take long."""
ENDINGS = ("\nx|", "", "x")
IS_WHOLE = os.environ.get("GROWTH") == "whole"
"""Every piece with every ending, up to the longest text; else those with one ending, up to a sixteenth of it."""


def growing_in_lines(text: str) -> None:
    """As a reply comes in: some words at a time."""
    tail = streaming.StreamedMarkdown("x")
    for at in range(0, len(text), 2_000):
        if tail.add(text[at : at + 2_000]) is not None:
            _ = tail.drawn


def passages_of(text: str) -> None:
    said = recall.PastMessage("1", 1, "user", "", text, START)
    recall.chosen([said], {"needle": 1.0}, counts={}, among=9, budget=2_000, count=len)


def rendered_summary(text: str) -> str:
    turns = [Turn(word, "user", word, START, 4) for word in ("a port", "b")]
    return citations.rendered(text, cited(text, turns), {turn.id: (1, turn.content) for turn in turns})


def check_summary(text: str) -> None:
    """As a model's summary of itself and another text is accepted."""
    turns = [Turn("1", "user", text, START, 4), Turn("2", "user", "port 9999", START, 4)]
    unfound = unfound_in(text, turns, beside=("port 9998",), doubted=frozenset(("9998",)))
    summary = marked(text, unfound | {"9998"})
    cited(summary, turns, unfound=unfound)


READERS: dict[str, tuple[Callable[[str], Any], int]] = {
    "Markdown": (html_of, MAX_MARKDOWN),
    "a reply as it grows": (growing_in_lines, MAX_MARKDOWN),
    "a summary with its sources": (rendered_summary, MAX_MARKDOWN),
    "a summary that is checked": (check_summary, MESSAGE),
    "a line of a list": (in_a_line, MESSAGE),
    "a text file": (lambda text: read_text_file(text.encode()), MESSAGE),
    "the words of a search": (terms_of, MESSAGE),
    "the terms of the index": (index_terms, MESSAGE),
    "names and numbers of a question": (recall._marked, MESSAGE),
    "passages of a long message": (passages_of, MESSAGE),
    "a title": (lambda text: titles.cleaned(titles.Reply(f"a{text}", "stop")), MESSAGE),
}


def make_json(kind: str) -> Callable[[int], str]:
    def pairs(size: int) -> str:
        keys = [f'"k{number}":1' for number in range(max(2, size // 8))]
        return "{" + ",".join([*keys, keys[-1]]) + "}"

    return {
        "the last key twice": pairs,
        "brackets": lambda size: "[" * size,
        "objects": lambda size: "[" + '{"a":1},' * (size // 8) + "1]",
        "digits": lambda size: "1" * size,
        "a float": lambda size: "1." + "1" * size,
        "blanks": lambda size: " " * size + "1",
        "escapes": lambda size: '"' + "\\u0041" * (size // 6) + '"',
    }[kind]


@pytest.mark.parametrize("reader", READERS)
def test_no_text_of_repeated_pieces_takes_longer_than_its_length(reader: str) -> None:
    read, longest = READERS[reader]
    slow = {}
    for fragment in FRAGMENTS:
        for after in ENDINGS if IS_WHOLE else ENDINGS[:1]:
            found = growth(
                read,
                repeated(fragment, after=after),
                start=longest // (16 if IS_WHOLE else 64),
                largest=longest if IS_WHOLE else longest // 16,
            )
            if not found.is_linear:
                slow[fragment, after] = found.times
    assert not slow


def test_messages_of_any_length_are_looked_through_in_bounded_time() -> None:
    def seconds(size: int) -> float:
        words = " ".join(f"needle{number}" for number in range(size // 8))[:size]
        said = [recall.PastMessage(str(at), at, "user", "", words, START + at * MINUTE) for at in range(120)]
        terms = {f"needle{number}": 1.0 for number in range(recall.MAX_QUERY_TERMS)}
        return cpu_seconds(lambda: recall.chosen(said, terms, counts={}, among=1_000, budget=2_000, count=len))

    assert seconds(MESSAGE) < 2 * seconds(60_000) < 20


@pytest.mark.parametrize(
    "kind", ["the last key twice", "brackets", "objects", "digits", "a float", "blanks", "escapes"]
)
@pytest.mark.parametrize("read", [parse_json, lambda text: list(entries(text))])
def test_json_is_read_in_time_that_grows_with_its_length(read: Callable[[str], Any], kind: str) -> None:
    def tried(text: str) -> None:
        with suppress(Invalid):
            read(text)

    found = growth(tried, make_json(kind), start=2_000, largest=1_000_000)
    assert found.is_linear, found.times


def test_a_key_that_appears_twice_is_named() -> None:
    with pytest.raises(Invalid, match="the key 'b' appears twice"):
        parse_json('{"a": 1, "b": 2, "c": 3, "b": 4}')


def test_a_body_has_so_many_values_at_most() -> None:
    assert len(parse_json("[" + "1," * 999_000 + "1]")) == 999_001
    assert parse_json(json.dumps([",{[" * 400_000, '\\",' * 400_000])), "those within strings are no structure"
    with pytest.raises(Invalid, match="more than 1,000,000 commas and brackets"):
        parse_json("[" + "1," * 1_000_001 + "1]")
    assert parse_json(f'"{"a" * 2_000_000}"')


@pytest.mark.parametrize(
    "texts",
    [
        lambda lines: ("a\nb\n" * (lines // 2), "b\nc\na\n" * (lines // 3)),
        lambda lines: ("\n".join(map(str, range(lines))), "\n".join(map(str, range(lines, 0, -1)))),
        lambda lines: ("a\n" * lines, "b\n" + "a\n" * lines + "b\n"),
        lambda lines: ("a\nb\n" * lines, "b\na\n" * lines),
    ],
)
def test_a_difference_takes_a_second_at_most(texts: Callable[[int], tuple[str, str]]) -> None:
    found = growth(lambda pair: diff(*pair), texts, start=100, largest=200_000)
    assert max(found.times.values()) < 1, found.times


def test_a_table_has_as_many_cells_as_were_written_and_some() -> None:
    table = "|a" * 256 + "|\n" + "|-" * 256 + "|\n" + "|x\n" * 256
    html = html_of(table)
    assert len(html) < 20 * len(table) and "<table>" not in html
    assert html_of("|a|b|\n|-|-|\n|x\n|y|z|\n").count("<td>") == 4
    many = ("|a" * 20 + "|\n" + "|-" * 20 + "|\n" + "|x\n" * 20 + "\n") * 30
    assert 400 < html_of(many).count("<td>") < 3_000


@pytest.mark.django_db
def test_a_search_takes_no_longer_for_what_nearly_occurs(user: User) -> None:
    conversation = Conversation.objects.create(owner=user)

    def stored(size: int) -> str:
        Message.objects.all().delete()
        Message.objects.bulk_create(
            Message(conversation=conversation, role="user", content="a" * MESSAGE, created_at=START + at * MINUTE)
            for at in range(size // MESSAGE)
        )
        return "a" * 199 + "b"

    found = growth(lambda query: search.find_hits(user, query), stored, start=MESSAGE, largest=16 * MESSAGE)
    assert found.is_linear and max(found.times.values()) < 1, found.times


def test_excerpts_and_calculations_take_time_in_proportion() -> None:
    for read, make in (
        (lambda text: excerpt(text, ["a" * 99 + "b"]), repeated("a")),
        (lambda text: holds(text, "a" * 99 + "b"), repeated("a")),
        (lambda text: MARKS.sub("", text), repeated("**")),
        (lambda text: CODE.sub("", text), repeated("`")),
        (_calculated, repeated("(")),
        (_calculated, repeated("9**")),
        (_calculated, repeated("-", after="1")),
    ):
        found = growth(read, make, largest=MESSAGE)
        assert found.is_linear, found.times


def _calculated(text: str) -> None:
    with suppress(ToolFailed, Invalid):
        calculator.calculate(text)
