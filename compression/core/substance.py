"""Whether a summary says anything, and of its source: in any language, by its words alone, in time that is linear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from compression.core.errors import CompactionFailed
from compression.core.values import Passage

_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_UNSPACED = "\u0e00-\u0fff\u2e80-\ud7ff\uf900-\ufaff"
"""Scripts that are written without spaces: each character counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_FORM = frozenset(("done", "pending", "blocked", "next", "none", "nothing", "na", "tbd"))
"""Words of the form of a summary, which say nothing of its source."""

RUN = 4
"""Words in a row that stand there a second time are a repetition."""
JUDGED_FROM = 60
"""Words from which on repetitions are counted: in fewer, lists repeat themselves rightly."""
MOST_REPEATED = 0.6
"""Of the runs, that may have stood there before."""
DOMINATED_FROM = 20
MOST_OF_ONE = 0.7
"""Of the words, that may be the same one, where there are DOMINATED_FROM of them."""
BEYOND_SOURCE = 0.15
"""A summary may repeat itself by so much more than its source does, as that of a log."""
UNKNOWN_FROM = 6
"""Different words from which on at least one must stand in the source."""


def require_substance(summary: str, passage: Passage) -> None:
    """Raises CompactionFailed("validate", …) for one that repeats itself, or has not a word of its source.

    Where a person's instructions or prompt steer it, it may be in other words than its source: in another language.
    """
    source = words_of("\n".join((passage.text, passage.earlier, passage.goal)))
    said = words_of(_HEADING.sub("", summary))
    if _repeats(said, source):
        raise CompactionFailed("validate", "the summary repeats itself over and over")
    telling = {word for word in said if len(word) > 1 or not word.isascii()} - _FORM
    if not telling:
        raise CompactionFailed("validate", "the summary says nothing")
    if not (passage.instructions or passage.prompt) and _is_foreign(telling, source):
        raise CompactionFailed("validate", "the summary has nothing of what it was to summarise")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def repetition(words: Sequence[str]) -> float:
    """The share of runs of words that have stood there before."""
    runs = [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def domination(words: Sequence[str]) -> float:
    """The share of the commonest word."""
    return Counter(words).most_common(1)[0][1] / len(words) if words else 0.0


def _repeats(said: list[str], source: list[str]) -> bool:
    if len(said) >= JUDGED_FROM:
        share = repetition(said)
        if share > MOST_REPEATED and share > repetition(source) + BEYOND_SOURCE:
            return True
    share = domination(said)
    return len(said) >= DOMINATED_FROM and share > MOST_OF_ONE and share > domination(source) + BEYOND_SOURCE


def _is_foreign(telling: set[str], source: list[str]) -> bool:
    return len(telling) >= UNKNOWN_FROM and telling.isdisjoint(source)
