"""Finds lasting facts that people state about themselves: "I live in Lisbon.", "I'm allergic to nuts."."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import islice
from pathlib import Path

from compression.core.caching import cached_texts
from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.own_words import own_sentences
from compression.core.ledger.topics import topic_of_words
from compression.core.ledger.values import DetectedEntry, Topic

MAX_CHARS = 200
"""A longer sentence tells a story."""
MAX_READ_CHARS = 20_000
MAX_FACTS = 5
"""The most facts of one message: the person is asked about each."""
SINGLE = ("name", "home")
"""The subjects that have one fact at a time."""
_NOT_STATED = lazy_pattern(
    r"[?？؟][\s\"'”’)*_]*$|\b(?:used to|would|wish|früher|antes|avant)\b"
    r"|^\s*(?:if|when|imagine|suppose|pretend|say|wenn|falls|stell dir|si|imagine[zr]|supposez|cuando|imagina|se|"
    r"immagina|quando|если|когда|представь|如果|假设|もし)\b",
    re.IGNORECASE,
)
"""Matches questions, conditions, invented people and former times."""


@cached_texts(chars=200_000)
def facts_about_oneself(text: str) -> tuple[DetectedEntry, ...]:
    """The sentences of a typed text in which a person states a fact about themselves; linear time."""
    found: dict[str, DetectedEntry] = {}
    for sentence in own_sentences(text[:MAX_READ_CHARS]):
        masked = sentence.masked.replace("’", "'")
        if sentence.is_doubtful or len(masked) > MAX_CHARS or _NOT_STATED.search(masked):
            continue
        for subject, forms in _forms().items():
            if forms.search(masked):
                topic = Topic(f"own {subject}") if subject in SINGLE else topic_of_words(masked)
                found.setdefault(sentence.text.casefold(), DetectedEntry("fact", sentence.text, False, topic))
                break
    return tuple(islice(found.values(), MAX_FACTS))


@cache
def _forms() -> dict[str, re.Pattern[str]]:
    """The forms of all languages, by subject."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        subject: lazy_pattern("|".join(form for table in tables.values() for form in table[subject]), re.IGNORECASE)
        for subject in (*SINGLE, "others")
    }
