"""Found words are marked as whole words; within words only where the terms stand nowhere else."""

from __future__ import annotations

import pytest

from conversations.messages.search_terms import marks


@pytest.mark.parametrize(
    ("terms", "text", "marked"),
    [
        (["a", "port"], "A port and airports export a ham.", ["A", "port", "a"]),
        (["port"], "airports export", ["port", "port"]),
        (["service"], "services serve the service", ["services", "service"]),
        (["5433"], "port 5433, not 54331", ["5433"]),
        (["node-7"], "node-7 and node-71", ["node-7", "node-7"]),
        (["港口"], "新的港口在这里", ["港口"]),
        (["über"], "Über übermorgen", ["Über", "über"]),
    ],
)
def test_words_are_marked_whole(terms: list[str], text: str, marked: list[str]) -> None:
    assert [found[0] for found in marks(terms, text).finditer(text)] == marked
