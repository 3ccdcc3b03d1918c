"""A reply while it is written: whatever the pieces, it is shown as it will be when it is whole, and nothing is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.page.markup import markdown, streaming
from conversations.page.markup.streaming import StreamedMarkdown
from tests.conftest import real_conversation

pytestmark = pytest.mark.once

DOCS = [*Path("docs").glob("*.md"), Path("README.md")]
REAL = ("swe/ctf-i-got-id.json", "swe/marshmallow-1867.json")
LINES = st.sampled_from(
    ["", "words", "**bold", "# head", "- item", "  - item", "1. one", "> said", "```py", "```", "~~~", "    code", "\t",
     "a | b", "--- | ---", "---", "===", "$$", "x^2", "[a]: http://b.example", "[a]", "<b>", "  ", "10", "* * *", "\\",
     "<details>", "<summary>more</summary>", "</details>"]
)  # fmt: skip


def grown(text: str, sizes: random.Random) -> tuple[str, StreamedMarkdown]:
    """The whole blocks as HTML, and what is left, of a text that came in pieces."""
    reply, done, at = StreamedMarkdown("id"), "", 0
    while at < len(text):
        piece = text[at : at + sizes.choice([1, 3, 5, 20, 100])]
        at += len(piece)
        done += reply.add(piece) or ""
        assert text[: reply.read].endswith(reply.tail)
    return done, reply


def as_read(html: str) -> list[str]:
    """Blank lines between blocks are nothing that is seen."""
    return html.split()


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_what_came_in_pieces_looks_as_if_it_had_come_at_once(path: Path) -> None:
    text = path.read_text()[: markdown.MAX_MARKDOWN]
    done, reply = grown(text, random.Random(7))
    assert as_read(done + markdown.html_of(reply.tail)) == as_read(markdown.html_of(text))
    assert len(done) > len(text) / 2


@pytest.mark.parametrize("name", REAL)
def test_so_do_real_replies(name: str) -> None:
    for message in real_conversation(name)["messages"]:
        if message["role"] == "assistant" and len(message["content"]) <= markdown.MAX_MARKDOWN:
            done, reply = grown(message["content"], random.Random(7))
            assert as_read(done + markdown.html_of(reply.tail)) == as_read(markdown.html_of(message["content"]))


@settings(max_examples=300, derandomize=True)
@given(lines=st.lists(LINES, max_size=12), seed=st.integers(0, 9))
def test_who_comes_later_is_shown_the_same_and_there_is_one_place_that_further_words_go_to(
    lines: list[str], seed: int
) -> None:
    text = "\n".join(lines)
    _, reply = grown(text, random.Random(seed))
    later, html = streaming.so_far("id", text)
    assert html.count('id="text-id"') == html.count('class="tail"') == reply.drawn.count('id="text-id"') == 1
    assert text.endswith(later.tail)
    if "$$" not in text:  # what is a formula at last may have looked like something else: the page asks again then
        assert (later.place, later.kind, later.drawn) == (reply.place, reply.kind, reply.drawn)


def test_code_is_in_its_box_while_it_is_written_and_has_its_colours_at_its_end() -> None:
    reply = StreamedMarkdown("id")
    assert reply.add("Look:\n\n```python\n") == "<p>Look:</p>\n"
    assert reply.add("x = '<b>'\n") is None  # put behind what is there
    assert "<span>python</span>" in reply.drawn
    assert '<code class="streaming" id="text-id">x = &#x27;&lt;b&gt;&#x27;\n</code>' in reply.drawn
    assert reply.add("\n") is None
    done = reply.add("```\n")
    assert done and '<span class="n">x</span>' in done and "streaming" not in done
    assert reply.drawn == '<div class="streaming" id="text-id"></div>'


def test_a_box_that_begins_with_four_marks_is_not_read_again_for_three() -> None:
    reply = StreamedMarkdown("id")
    assert reply.add("````md\n") == ""
    assert [reply.add(line) for line in ("```py\n", "x\n", "```\n")] == [None, None, None]
    assert (reply.add("````\n") or "").count("<pre") == 1


def test_a_list_is_shown_as_far_as_its_lines_have_ended() -> None:
    reply = StreamedMarkdown("id")
    assert reply.add("- **one**\n- tw") == ""
    assert reply.drawn == (
        '<ul>\n<li><strong>one</strong></li>\n</ul>\n<div class="streaming" id="text-id">- tw</div>'
    )  # fmt: skip
    assert reply.add("o\n\nSo.") == ""
    assert reply.drawn.endswith('<li>two</li>\n</ul>\n<div class="streaming" id="text-id">So.</div>')
    assert reply.add(" Then\n") == "<ul>\n<li><strong>one</strong></li>\n<li>two</li>\n</ul>\n"
    assert reply.tail == "So. Then\n"


def test_a_part_to_open_is_open_until_it_has_ended() -> None:
    reply = StreamedMarkdown("id")
    assert reply.add("<details>\n<summary>Log</summary>\n- **one**\n- tw") == ""
    assert reply.drawn == (
        '<details open="">\n<summary>Log</summary>\n<ul>\n<li><strong>one</strong></li>\n</ul>\n</details>\n'
        '<div class="streaming" id="text-id">- tw</div>'
    )
    assert reply.add("o\n\n</details>\n") == (
        "<details>\n<summary>Log</summary>\n<ul>\n<li><strong>one</strong></li>\n<li>two</li>\n</ul>\n</details>\n"
    )
    assert reply.tail == ""


def test_what_is_written_into_a_place_that_a_page_does_not_have_is_named_by_how_far_it_was_read() -> None:
    reply = StreamedMarkdown("id")
    before = reply.place
    assert reply.add("one\n\ntwo") == "<p>one</p>\n"
    assert (before, reply.place) == ("tail-id-0", "tail-id-4")
    assert streaming.so_far("id", "one\n\ntwo")[0].place == reply.place


@pytest.mark.parametrize(
    "line",
    [
        "- item of a list that goes on\n",
        "| a | b |\n",
        "> said\n",
        "words\n",
        "```\n",
        "\n",
        "1. x\n   ```py\n   y=1\n",
    ],
)
def test_a_reply_that_never_ends_a_block_costs_little(line: str) -> None:
    began = time.process_time()
    reply = StreamedMarkdown("id")
    drawn = 0
    for _ in range(60_000 // len(line)):
        if reply.add(line) is not None:
            drawn += len(reply.drawn)
    assert time.process_time() - began < 5
    assert drawn < 3_000_000
