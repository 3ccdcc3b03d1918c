"""Listings that tools print are no facts, and one line of a summary."""

from __future__ import annotations

import pytest

from compression.core.extractive.summariser import extract
from compression.core.facts.find import find_facts
from compression.core.text.listings import LEAST_ROWS, shortened_listings, without_listings
from compression.core.text.statements import statements_of
from compression.core.tokens import count_tokens
from compression.core.values import ToolUse
from tests.core.conversations import turn
from tests.growth import growth, repeated

BUILD = [f"step 8 file_{n}.py compiled in {n * 11 % 97} ms, unit {n * 7} of module_{n % 9}" for n in range(60)]
NUMBERS = [str(n) for n in range(1_000, 1_060)]
PATHS = [f"./src/{name}/{name}.py" for name in map(chr, range(ord("a"), ord("z")))]
FILES = [f"-rw-r--r-- 1 root root 4096 Nov 26 02:44 {name}_tool.py" for name in map(chr, range(ord("a"), ord("z")))]
LISTINGS = {"build": BUILD, "numbers": NUMBERS, "paths": PATHS, "files": FILES}


def printed(lines: list[str]) -> str:
    return "\n".join(["the build wrote QX-7781", *lines, "Total: 4.7 seconds in /srv/build"])


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_has_no_facts_and_what_stands_around_it_has(name: str) -> None:
    use = ToolUse("c1", "Bash", '{"command": "make"}', printed(LISTINGS[name]))
    facts = {fact.text for fact in find_facts(statements_of(turn("", role="assistant", tools=(use,))))}
    assert {"QX-7781", "4.7 seconds", "/srv/build"} <= facts
    assert len(facts) <= 5, facts


@pytest.mark.parametrize("name", LISTINGS)
def test_a_summary_without_a_model_has_one_line_of_it(name: str) -> None:
    use = ToolUse("c1", "Bash", '{"command": "make"}', printed(LISTINGS[name]))
    text = extract([turn("", role="assistant", tools=(use,))], earlier="", max_tokens=500, count=count_tokens)
    first, *others = LISTINGS[name]
    assert first in text and not any(row in text for row in others)
    assert f"{first} (and {len(others)} more like it)" in text
    assert "QX-7781" in text and "/srv/build" in text


def test_a_row_that_was_cut_off_belongs_to_its_listing() -> None:
    for cut in ("step 8 file_61.py compiled in 3 ms, u…", "step 8 … [truncated]"):
        assert without_listings("\n".join([*BUILD, cut])) == ""
    assert without_listings("\n".join([*BUILD, "Error 7 in …"])) == "Error 7 in …"


@pytest.mark.parametrize("piece", [".", "/", "a.", "-", " ", "1", "…", "-rwxrwxrwx "])
def test_long_lines_take_time_in_proportion(piece: str) -> None:
    def tried(text: str) -> None:
        without_listings(text)
        shortened_listings(f"{text} x")

    assert growth(tried, repeated(piece), largest=200_000).is_linear


def test_few_rows_and_rows_of_words_stay() -> None:
    few = "\n".join(f"service {n} listens on port {6_100 + n}" for n in range(LEAST_ROWS - 1))
    words = "\n".join(["The same."] * 40)
    for text in (few, words, "", "one line", "a\n\nb"):
        assert without_listings(text) == shortened_listings(text) == text


def test_what_a_person_or_a_model_says_is_no_listing() -> None:
    for role in ("user", "assistant"):
        said = turn("\n".join(BUILD), role=role)  # type: ignore[arg-type]
        assert len(find_facts(statements_of(said))) > 60
