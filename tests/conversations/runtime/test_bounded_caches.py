"""Memories of a process are bounded, and forget what is oldest, not everything."""

from __future__ import annotations

from uuid import uuid4

import pytest

from conversations import limits
from conversations.errors import TooMany
from conversations.requests import request_log
from conversations.runtime.bounded_cache import BoundedCache
from conversations.runtime.events import Hub
from conversations.runtime.subscription import Event

pytestmark = pytest.mark.once


def test_the_oldest_is_forgotten_and_what_is_put_again_is_new() -> None:
    known: BoundedCache[str, int] = BoundedCache(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        known.put(key, value)
    assert [known.get(key) for key in "abc"] == [3, None, 4]
    assert known.pop("a") == 3 and "a" not in known and "c" in known


@pytest.mark.django_db
def test_a_key_that_was_right_is_known_when_many_others_were() -> None:
    address = "203.0.113.9"
    for _ in range(limits.GUESSES_A_MINUTE):
        limits.note_guess(address)
    limits._right.clear()
    for number in range(limits.RIGHT_KEPT + 1):
        limits.note_right(f"key {number}")
    limits.require_guesses(address, digest=f"key {limits.RIGHT_KEPT}")
    limits.require_guesses(address, digest="key 1")
    with pytest.raises(TooMany):
        limits.require_guesses(address, digest="key 0")


def test_all_memories_are_of_one_kind() -> None:
    hub = Hub()
    hub.hear(uuid4(), Event("message.delta", {"id": "m", "text": "a", "at": 0}))
    assert hub.draft("m") == "a"
    assert {type(one) for one in (limits._right, request_log._stored, hub._drafts)} == {BoundedCache}
