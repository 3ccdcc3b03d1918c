"""Reduces words to stems: "volunteer", "volunteered" and "volunteering" have the same one."""

from __future__ import annotations

from threading import Lock

import Stemmer

from compression.core.caching import cached_words

_MAX_WORD_CHARS = 40
_REPLACED = {
    "ization": "ize",
    "fulness": "ful",
    "ousness": "ous",
    "iveness": "ive",
    "sses": "ss",
    "ies": "y",
    "ied": "y",
}
_REMOVED = ("ingly", "edly", "ments", "ment", "ness", "ings", "ing", "ers", "ed", "es", "er", "ly", "'s", "s")
LANGUAGES = ("German", "French", "Spanish", "Italian", "Portuguese", "Russian", "Dutch", "Polish")
"""The languages with stems of their own, by the algorithms of snowballstem.org. English has ours."""
_SNOWBALL = {name: Stemmer.Stemmer(name.lower()) for name in LANGUAGES}
_lock = Lock()  # a stemmer serves one thread at a time
_ENDINGS = (*_REPLACED.items(), *((ending, "") for ending in _REMOVED))


@cached_words(entries=32_768, chars=40)
def stem(word: str) -> str:
    """The stem of a word: lower case, cut to 40 characters, without English endings; other scripts keep theirs."""
    text = word.lower()[:_MAX_WORD_CHARS].replace("’", "'")
    if not text.isascii() or text.isdigit() or len(text) <= 3:
        return text
    for ending, instead in _ENDINGS:
        if text.endswith(ending) and len(text) - len(ending) >= 3 and not text.endswith("ss"):
            return _settled(text[: len(text) - len(ending)] + instead)
    return _settled(text)


@cached_words(entries=32_768, chars=40)
def stem_in(word: str, language: str) -> str:
    """The stem of a word of one of LANGUAGES: in lower case, cut to 40 characters."""
    with _lock:
        found: str = _SNOWBALL[language].stemWord(word.lower()[:_MAX_WORD_CHARS])
    return found


def _settled(root: str) -> str:
    """The root without a doubled consonant or silent ending: "planned" and "plan" have the same stem."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiouls":
        return root[:-1]
    if len(root) > 3 and root[-1] in "ei":
        return root[:-1]
    return root[:-1] + "i" if len(root) > 2 and root[-1] == "y" else root
