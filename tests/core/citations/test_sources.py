"""The messages that a statement of a summary comes from."""

from __future__ import annotations

from datetime import date

import pytest

from compression.core.citations.source_matching import sources_of
from compression.core.text.relative_dates import resolve


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("We left the house yesterday.", "Yesterday the house: we left."),
        ("Es war gestern im Garten so.", "Im Garten war es so, gestern."),
        ("Letzten Monat brannte die Mühle.", "Die Mühle brannte letzten Monat."),
        ("Le moulin a brûlé avant-hier au soir.", "Avant-hier au soir, le moulin a brûlé."),
        ("昨天磨坊着火了，没有人受伤。", "没有人受伤，昨天磨坊着火了。"),
    ],
)
def test_an_added_date_does_not_hide_the_message_of_these_very_words(sentence: str, other: str) -> None:
    stated = resolve(sentence, date(2023, 5, 8))
    assert stated != sentence
    assert sources_of([f"You: {stated}"], [other, sentence]) == [(1,)]
