"""Shortens a sentence to the form that a note keeps."""

from __future__ import annotations

import re
from enum import IntEnum

from compression.core.extractive.stopwords import (
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    FILLERS,
    PREPOSITIONS,
    SELF,
    VAGUE,
)


class Form(IntEnum):
    """How much of a sentence stays: all of it, all without filler words, or only content words (40 %)."""

    WHOLE = 0
    READABLE = 1
    TERSE = 2


_LEAD_IN = re.compile(
    r"(?:(?:wow|woah|whoa|yeah|yep|yes|oh|ok|okay|well|so|also|and|but|hey|hi|cool|thanks(?: so much| a lot)?|thank you"
    r"|by the way|btw|actually|in fact|anyway|of course|sure|i think(?: that)?|i guess|i mean|you know|i'd say"
    r"|it seems(?: that)?|to be honest|honestly)\b[,!.]*\s+)+",
    re.IGNORECASE,
)
_DROPPED = {
    Form.READABLE: ARTICLES | FILLERS,
    Form.TERSE: DETERMINERS | AUXILIARIES | FILLERS | VAGUE | CONJUNCTIONS | PREPOSITIONS | SELF,
}
_EDGES = ',.!?;:…()"“”*_'


def shorten(sentence: str, form: Form, names: frozenset[str] = frozenset()) -> str:
    """The sentence in that form. Quotations stay whole; negations and numbers are kept.

    `names` are the speakers' names in lower case; forms of address with them are dropped.
    """
    if form is Form.WHOLE:
        return sentence
    text = sentence[lead.end() :] if (lead := _LEAD_IN.match(sentence)) else sentence
    dropped = _DROPPED[form]
    kept: list[str] = []
    quoted = False
    for word in text.split():
        bare = word.strip(_EDGES).replace("’", "'")
        opens = word[0] in '"“`'
        if (
            quoted
            or opens
            or not (bare.lower() in dropped or not any(map(str.isalnum, bare)) or _is_address(bare, word, names))
        ):
            kept.append(word)
        quoted = (
            (quoted or opens) and word.rstrip(".,!?;:)")[-1:] not in ('"', "”", "`")
            if len(word) > 1
            else quoted != opens
        )
    return _closed(" ".join(kept), form)


def _is_address(bare: str, word: str, names: frozenset[str]) -> bool:
    return word[-1] in ",!.?" and bare.lower() in names


def _closed(text: str, form: Form) -> str:
    text = text.rstrip(" .!,;:")
    return text.replace(",", "") if form is Form.TERSE and '"' not in text and not _DIGIT_COMMA.search(text) else text


_DIGIT_COMMA = re.compile(r"\d,\d")
