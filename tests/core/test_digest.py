"""The running hash of a history: what is stored with every checkpoint, so that it must never change."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compression.core.digest import digest_after
from compression.core.values import Image, ToolUse

TEXTS = st.text(st.characters(exclude_categories=()), max_size=40)
TOOLS = st.lists(st.builds(ToolUse, TEXTS, TEXTS, TEXTS, st.none() | TEXTS), max_size=2)
IMAGES = st.lists(st.builds(Image, st.just("0f" * 32), st.just("a.png")), max_size=2)


@given(content=TEXTS, tools=TOOLS, images=IMAGES)
def test_a_digest_is_the_hash_of_a_json_array(content: str, tools: list[ToolUse], images: list[Image]) -> None:
    calls = [[use.call_id, use.name, use.arguments, use.result] for use in tools]
    hashes = [[image.hash for image in images]] if images else []
    hashed = json.dumps(["ab" * 32, "assistant", content, calls, *hashes])
    expected = hashlib.sha256(hashed.encode()).hexdigest()
    assert digest_after("ab" * 32, "assistant", content, tools, images) == expected


@pytest.mark.parametrize(
    ("content", "digest"),
    [
        ("Hello", "98c3304389b0d77dd032c20603185b95df6f44ddcf2a4be490d9a1755bf481a2"),
        ('Grüße, "Zoë"\n\\ 😀', "629adfd85d53e102b58ef663fb9315707dff2390bb6086fe99f92330d26ba216"),
    ],
)
def test_the_digests_of_stored_histories_stay(content: str, digest: str) -> None:
    assert digest_after("", "user", content, ()) == digest
