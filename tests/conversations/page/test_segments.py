from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.page.markup.segments import PasteSegment, Segment, split

pytestmark = pytest.mark.once

PLACE = st.integers(-2, 30)
INSETS = st.lists(st.builds(PasteSegment, label=st.sampled_from(["a", "b"]), start=PLACE, length=PLACE), max_size=6)


def test_a_content_is_cut_at_its_insets() -> None:
    content = "see 🙂 LONG and LONGER."
    assert split(content, [PasteSegment("second", 15, 6), PasteSegment("first", 6, 4)]) == [
        Segment("see 🙂 "),
        Segment("LONG", "first"),
        Segment(" and "),
        Segment("LONGER", "second"),
        Segment("."),
    ]


@given(st.text(max_size=30), INSETS)
def test_nothing_is_lost_or_said_twice_whatever_the_places(content: str, insets: list[PasteSegment]) -> None:
    segments = split(content, insets)
    assert "".join(segment.text for segment in segments) == content
    assert all(segment.text for segment in segments)


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=8))
def test_what_was_put_in_comes_out_under_its_label(parts: list[tuple[str, bool]]) -> None:
    insets, start = [], 0
    for number, (text, is_inset) in enumerate(parts):
        if is_inset:
            insets.append(PasteSegment(str(number + 1), start, len(text)))
        start += len(text)
    found = [(one.label, one.text) for one in split("".join(text for text, _ in parts), insets) if one.label]
    assert found == [(str(number + 1), text) for number, (text, is_inset) in enumerate(parts) if is_inset and text]
