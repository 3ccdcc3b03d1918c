"""Summaries without a model of one chat in three languages."""

from __future__ import annotations

from datetime import datetime

import pytest

from benchmarks.languages import LANGUAGES, invented
from compression.core.extractive.summariser import extract
from compression.core.text.terms import terms_of
from compression.core.tokens import count_tokens
from compression.core.values import Turn

ROUNDS, SHARE = 24, 0.1


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_tenth_of_a_chat_keeps_nearly_all_of_its_facts(language: str) -> None:
    told = invented(1, language)
    turns = [
        Turn(str(number), said["role"], said["content"], datetime.fromisoformat(said["created_at"]), 0)
        for number, said in enumerate(told.messages[: 2 * ROUNDS])
    ]
    tokens = sum(count_tokens(turn.content) for turn in turns)
    summary = extract(turns, earlier="", max_tokens=int(SHARE * tokens), count=count_tokens)
    kept = [answer in summary for _, answer in told.asked[:ROUNDS]]
    assert sum(kept) >= 0.95 * len(kept)


def test_common_words_of_a_language_are_no_terms() -> None:
    assert [term.text for term in terms_of("Ich habe nicht mit dem Server gesprochen")] == ["serv", "gesprochen"]
    assert {term.text for term in terms_of("这是我的服务器")} == {"服务", "务器"}
    assert [term.text for term in terms_of("The AI of Van Halen")] == ["ai", "van", "halen"]
