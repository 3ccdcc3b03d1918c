"""Which language a text is mostly in, where that is beyond doubt: by its script, else by its commonest words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from compression.core.extractive.stopwords import words

SAMPLE = 20_000
"""Characters that are looked at."""
MIN_LETTERS = 25
"""Letters or words under which nothing is said."""
DOMINANT_SHARE = 0.6
"""Of the letters, in one script."""
TELLING = 0.08
"""Of the words, among a language's commonest."""
AHEAD = 1.4
"""Times that the first language must be ahead of the second."""

COMMON = {
    "English": words("the and of to is that it was for with are this have from not you they but were which would"),
    "German": words("der die und ist nicht das ich ein eine mit auf für den dem wir auch wird sind aber sich zu"),
    "French": words("le la les et est dans une des que pas pour sur avec nous vous qui sont mais ce je il du au"),
    "Spanish": words("el la los y es en una que no por con para las se del lo pero más como está su al un"),
    "Italian": words("il la di e è che non un una per con sono ma si del della nel anche come più gli le lo"),
    "Portuguese": words("o a os e é em uma que não por com para as se do da no na mas mais como está um foi"),
    "Dutch": words("de het een en is niet dat van ik op met voor zijn wordt ook maar naar deze er aan te"),
    "Polish": words("i w nie na jest się że z do to jak ale o co po od są dla tak już był przez"),
}

_WORD = re.compile(r"[^\W\d_]+")
_ALIKE = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


def language(text: str) -> str | None:
    """A script other than Latin by its Unicode name ("CYRILLIC"), else a key of `COMMON`; None where it is unclear."""
    sample = text[:SAMPLE]
    scripts = Counter(_script(letter) for letter in sample if letter.isalpha())
    letters = sum(scripts.values())
    if letters < MIN_LETTERS:
        return None
    script, count = scripts.most_common(1)[0]
    if count < DOMINANT_SHARE * letters:
        return None
    return _by_words(sample) if script == "LATIN" else script


def differs(summary: str, source: str) -> str | None:
    """The language of a summary that is clearly not in that of its source; None where it may be."""
    written = language(summary)
    return written if written and written != (language(source) or written) else None


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").split()[0]
    return _ALIKE.get(name, name)


def _by_words(sample: str) -> str | None:
    found = [word.lower() for word in _WORD.findall(sample)]
    if len(found) < MIN_LETTERS:
        return None
    counts = Counter(found)
    shares = sorted(((sum(counts[word] for word in common), name) for name, common in COMMON.items()), reverse=True)
    (most, name), (second, _) = shares[:2]
    return name if most >= TELLING * len(found) and most >= AHEAD * second else None
