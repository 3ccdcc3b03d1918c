"""Finds the entries of a text: sentences that order, prefer, decide or correct, whole and verbatim."""

from __future__ import annotations

import re
from itertools import chain

from compression.core.caching import cached_texts
from compression.core.ledger import english
from compression.core.ledger.others import CHINESE, GERMAN, JAPANESE, RUSSIAN
from compression.core.ledger.own_words import Sentence, own_sentences, statements
from compression.core.ledger.patterns import Language
from compression.core.ledger.romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH
from compression.core.ledger.topics import topic_of
from compression.core.ledger.values import MAX_ENTRIES, DetectedEntry, Kind

_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), (JAPANESE,)),
    (re.compile("[\u4e00-\u9fff]"), (CHINESE, JAPANESE)),
    (re.compile("[\u0400-\u04ff]"), (RUSSIAN,)),
)
_LATIN = (GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE)
_QUESTION = re.compile(r"[?？؟][\s\"'”’)*_]*$")


@cached_texts(chars=500_000)
def find_entries(text: str) -> tuple[DetectedEntry, ...]:
    """The entries in a text that a person typed, at most MAX_ENTRIES, in order and each once; linear time."""
    found: dict[str, DetectedEntry] = {}
    for sentence in chain.from_iterable(map(statements, own_sentences(text))):
        entry = _entry(sentence)
        if entry is not None:
            found.setdefault(entry.text.casefold(), entry)
            if len(found) == MAX_ENTRIES:
                break
    return tuple(found.values())


def entry_of(text: str) -> DetectedEntry:
    """The entry of a rule that a person sets in their own words: sure, with any words."""
    return DetectedEntry("rule", text, True, topic_of(text))


def _entry(sentence: Sentence) -> DetectedEntry | None:
    masked = sentence.masked.replace("’", "'")
    languages = _languages(masked)
    if languages is _LATIN and english.is_sure_order(masked):
        return DetectedEntry("rule", sentence.text, not sentence.is_doubtful, topic_of(masked))
    is_question = bool(_QUESTION.search(masked))
    if not is_question and any(language.is_sure_order(masked) for language in languages):
        return DetectedEntry("rule", sentence.text, not sentence.is_doubtful, topic_of(masked))
    kind = english.kind_of(masked) if languages is _LATIN else ""
    if not kind and not is_question:
        kind = next(filter(None, (language.kind_of(masked) for language in languages)), "")
    return DetectedEntry(_KINDS[kind], sentence.text, False, topic_of(masked)) if kind else None


def _languages(sentence: str) -> tuple[Language, ...]:
    """The languages that are written in the sentence's script."""
    return next((languages for script, languages in _SCRIPTS if script.search(sentence)), _LATIN)


_KINDS: dict[str, Kind] = {kind: kind for kind in ("rule", "preference", "decision", "correction")}
