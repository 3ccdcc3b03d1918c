"""Finds the entries of a text: sentences that order, prefer, decide or correct, whole and verbatim."""

from __future__ import annotations

import re
from itertools import chain

from compression.core.caching import cached_texts
from compression.core.ledger import english
from compression.core.ledger.own_words import Sentence, own_sentences, statements
from compression.core.ledger.patterns import language
from compression.core.ledger.topics import topic_of
from compression.core.ledger.values import MAX_ENTRIES, DetectedEntry, Kind

_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), ("japanese",)),
    (re.compile("[\u4e00-\u9fff]"), ("chinese", "japanese")),
    (re.compile("[\u0400-\u04ff]"), ("russian",)),
)
_LATIN = ("german", "french", "spanish", "italian", "portuguese")
"""The tables of the other languages in Latin letters; English has code beside its table (`english`)."""
_LEAD_IN = re.compile(
    r"^\W*(?:(?:no|wait|actually|sorry|oh|hm+|ok|okay|well|scratch that|nein|moment|doch|eigentlich|entschuldigung"
    r"|non|en fait|pardon|en realidad|perdón|anzi|scusa|aliás|нет|стоп)\b[\s,:;.!–—-]*)+(?=\w)",
    re.IGNORECASE,
)
"""Words by which a person changes their mind: "Actually, use spaces, not tabs." is an order like the one before."""
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
    names = _languages(masked)
    is_latin, is_question = names is _LATIN, bool(_QUESTION.search(masked))
    languages = [] if is_question else [language(name) for name in names]
    if (is_latin and english.is_sure_order(masked)) or any(one.is_sure_order(masked) for one in languages):
        return DetectedEntry("rule", sentence.text, not sentence.is_doubtful, topic_of(masked))
    if not is_question and (lead_in := _LEAD_IN.match(masked)):
        order = masked[lead_in.end() :]
        topic = topic_of(order)
        is_order = (is_latin and english.is_sure_order(order)) or any(one.is_sure_order(order) for one in languages)
        if is_order and not topic.name.startswith("="):
            return DetectedEntry("rule", sentence.text, not sentence.is_doubtful, topic)
    kind = english.kind_of(masked) if is_latin else ""
    kind = kind or next(filter(None, (one.kind_of(masked) for one in languages)), "")
    return DetectedEntry(_KINDS[kind], sentence.text, False, topic_of(masked)) if kind else None


def _languages(sentence: str) -> tuple[str, ...]:
    """The names of the languages that are written in the sentence's script."""
    return next((names for script, names in _SCRIPTS if script.search(sentence)), _LATIN)


_KINDS: dict[str, Kind] = {kind: kind for kind in ("rule", "preference", "decision", "correction")}
