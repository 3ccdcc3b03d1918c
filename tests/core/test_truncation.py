import asyncio

from hypothesis import given
from hypothesis import strategies as st

from compression.core.sections import SECTIONS
from compression.core.tokens import count_tokens
from compression.core.truncation import Truncation
from compression.core.values import Passage
from tests.core.conversations import dialogue


def note(*contents: str, max_tokens: int = 200, earlier: str = "") -> str:
    passage = Passage(tuple(dialogue(*contents)), "", earlier, max_tokens, 1)
    return asyncio.run(Truncation().summarise(passage)).text


def test_the_note_tells_how_many_messages_were_omitted_and_that_they_are_stored() -> None:
    assert "3 messages omitted, stored in full" in note("a", "b", "c")
    assert "1 message omitted, stored in full" in note("a")


def test_the_note_keeps_facts_of_messages_and_of_the_earlier_summary() -> None:
    text = note("Never restart on Fridays.", "ok", earlier="## Context\nthe port is 5433")
    facts = text.split("## Kept facts\n")[1]
    assert facts.startswith("- User, 2026-03-02: Never restart on Fridays")
    assert "5433" in facts


def test_the_note_is_provisional() -> None:
    assert Truncation.provisional
    assert Truncation.name == "truncation"


@given(st.lists(st.text(st.characters(), max_size=200), max_size=4), st.integers(60, 300))
def test_whatever_the_messages_the_note_has_its_headings_within_its_budget(
    contents: list[str], max_tokens: int
) -> None:
    text = note(*contents, max_tokens=max_tokens)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[:5] == [f"## {name}" for name in SECTIONS]
    assert headings[5:] in ([], ["## Kept facts"])
    assert count_tokens(text) <= max_tokens
    text.encode()
