from __future__ import annotations

import random
import tracemalloc

import pytest

from compression.core.caching import cached_texts, cached_words
from compression.core.text.index_terms import index_terms
from compression.core.text.terms import terms_of


def test_texts_are_kept_up_to_so_many_characters_the_latest_used_last() -> None:
    read: list[str] = []

    @cached_texts(chars=100)
    def length(text: str) -> int:
        read.append(text[:1])
        return len(text)

    for text in (
        "a" * 10,
        "b" * 10,
        "a" * 10,
        "c" * 90,
        "a" * 10,
        *("d" * 9 + str(n) for n in range(9)),
        "a" * 10,
        "b" * 10,
    ):
        assert length(text) == len(text)
    assert read == ["a", "b", "c", *"ddddddddd", "b"], "long ones are read each time, the oldest make room"


def test_long_words_are_read_anew() -> None:
    read: list[str] = []

    @cached_words(entries=10, chars=4)
    def upper(text: str) -> str:
        read.append(text)
        return text.upper()

    assert [upper(text) for text in ("ab", "ab", "abcde", "abcde")] == ["AB", "AB", "ABCDE", "ABCDE"]
    assert read == ["ab", "abcde", "abcde"]


@pytest.mark.long
def test_words_without_end_fill_no_more_than_so_many_megabytes() -> None:
    letters = random.Random(1)

    def invented() -> str:
        return " ".join("".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(2_000))

    def read(texts: int) -> int:
        for _ in range(texts):
            text = invented()
            index_terms(text)
            terms_of(text)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first, then = read(25), read(25)
    finally:
        tracemalloc.stop()
    assert then < 1.1 * first, "twice as many words take no more"
    assert then < 30_000_000
