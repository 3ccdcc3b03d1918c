from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.errors import Invalid
from conversations.messages import pastes
from conversations.messages.pastes import MAX_PARTS, Pasted

pytestmark = pytest.mark.once

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PARTS = st.lists(st.tuples(st.booleans(), TEXT), max_size=20)


@given(PARTS)
def test_pastes_are_where_they_were_put_whatever_is_typed_around_them(parts: list[tuple[bool, str]]) -> None:
    sent = [{"text": text} | ({"paste": at + 1} if pasted else {}) for at, (pasted, text) in enumerate(parts)]
    written = pastes.parse_pastes(json.dumps(sent))
    assert written.content == "".join(text for _, text in parts)
    found = {one.number: written.content[one.start : one.start + one.length] for one in written.pastes}
    assert found == {at + 1: text for at, (pasted, text) in enumerate(parts) if pasted and text}


def test_line_ends_and_marks_typed_by_hand_are_kept_as_they_are() -> None:
    sent = [{"text": "[LongText#1] 🙂 "}, {"paste": 1, "text": "a\r\nb\r\u2028[LongText#2]"}, {"text": "[LongText#1]"}]
    written = pastes.parse_pastes(json.dumps(sent))
    assert written.content == "[LongText#1] 🙂 a\r\nb\r\u2028[LongText#2][LongText#1]"
    assert written.pastes == (Pasted(1, 15, 18),)


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ("", "not valid JSON"),
        ("[", "not valid JSON"),
        ('[{"text": "a", "text": "b"}]', "appears twice"),
        ("{}", "must be a list"),
        ("[" * 10_000, "nested too deeply"),
        ([{"text": ""}] * (MAX_PARTS + 1), "at most 500, not 501"),
        (["a"], "parts[0]: must be"),
        ([{"text": "a"}, {"paste": 1}], "parts[1]: must be"),
        ([{"text": 1}], "parts[0]: must be"),
        ([{"text": "a", "role": "system"}], "parts[0]: must be"),
        ([{"text": "a", "paste": 0}], "from 1 on"),
        ([{"text": "a", "paste": True}], "from 1 on"),
        ([{"text": "a", "paste": "1"}], "from 1 on"),
        ([{"text": "a", "paste": 2**31}], "from 1 on"),
        ([{"text": "a", "paste": 1}, {"text": "b", "paste": 1}], "twice"),
    ],
)
def test_what_is_no_list_of_parts_is_refused_by_name(sent: Any, fault: str) -> None:
    with pytest.raises(Invalid) as refused:
        pastes.parse_pastes(sent if isinstance(sent, str) else json.dumps(sent))
    assert refused.value.message.startswith("parts") and fault in refused.value.message
    assert refused.value.detail["field"] == "parts"
