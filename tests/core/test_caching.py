from __future__ import annotations

from compression.core.caching import cached_texts, cached_words


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
