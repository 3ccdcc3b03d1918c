"""Rejects summaries that are repetitive, empty or unrelated to their source, in any language and in linear time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from compression.core.errors import CompactionFailed
from compression.core.values import Passage

_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_UNSPACED = "\u0e00-\u0fff\u2e80-\ud7ff\uf900-\ufaff"
"""Characters of scripts without spaces between words; each character counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_FORM = frozenset(("done", "pending", "blocked", "next", "none", "nothing", "na", "tbd"))
"""Words of a summary's form, which carry no content of its source."""

RUN_WORDS = 4
"""The length of the word sequences that are compared to find repetitions."""
MIN_WORDS_FOR_REPETITION = 60
"""Repetitions are only counted from this many words on: short lists repeat words legitimately."""
MAX_REPEATED_SHARE = 0.6
"""The largest accepted share of word sequences that occurred before."""
MIN_WORDS_FOR_DOMINATION = 20
MAX_SHARE_OF_ONE_WORD = 0.7
"""The largest accepted share of a single word, in summaries of at least MIN_WORDS_FOR_DOMINATION words."""
SOURCE_MARGIN = 0.15
"""A summary's shares may exceed those of its source by this much: a log's summary repeats itself as the log does."""
MIN_WORDS_FOR_UNRELATED = 6
"""A summary with at least this many different words must share one with its source."""


def require_substance(summary: str, passage: Passage) -> None:
    """Raise CompactionFailed("validate", …) if the summary repeats itself, or shares no word with its source.

    A summary steered by a person's instructions or prompt may share no word: it may be in another language.
    """
    source = words_of("\n".join((passage.text, passage.earlier, passage.goal)))
    words = words_of(_HEADING.sub("", summary))
    if _repeats(words, source):
        raise CompactionFailed("validate", "the summary repeats itself over and over")
    content = {word for word in words if len(word) > 1 or not word.isascii()} - _FORM
    if not content:
        raise CompactionFailed("validate", "the summary says nothing")
    if not (passage.instructions or passage.prompt) and _is_unrelated(content, source):
        raise CompactionFailed("validate", "the summary has nothing of what it was to summarise")


def words_of(text: str) -> list[str]:
    """The text's words in lower case; in scripts without spaces, its characters."""
    return _WORD.findall(text.casefold())


def repetition(words: Sequence[str]) -> float:
    """The share of word sequences of length RUN_WORDS that occurred before in `words`, from 0 to 1."""
    runs = [tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def domination(words: Sequence[str]) -> float:
    """The share of the most common word, from 0 to 1."""
    return Counter(words).most_common(1)[0][1] / len(words) if words else 0.0


def _repeats(words: list[str], source: list[str]) -> bool:
    if len(words) >= MIN_WORDS_FOR_REPETITION:
        share = repetition(words)
        if share > MAX_REPEATED_SHARE and share > repetition(source) + SOURCE_MARGIN:
            return True
    share = domination(words)
    return (
        len(words) >= MIN_WORDS_FOR_DOMINATION
        and share > MAX_SHARE_OF_ONE_WORD
        and share > domination(source) + SOURCE_MARGIN
    )


def _is_unrelated(content: set[str], source: list[str]) -> bool:
    return len(content) >= MIN_WORDS_FOR_UNRELATED and content.isdisjoint(source)
