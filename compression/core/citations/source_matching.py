"""Matches a summary's statements to the messages they come from. Summaries cite nothing, to save tokens.

The source of a statement is the first message that contains it word for word, else the message that shares most terms
with it: paths, identifiers, numbers, names and words, weighted by rarity among the messages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import log

from compression.core.facts.find import normalised
from compression.core.text.relative_dates import MONTHS
from compression.core.text.terms import Sort, terms_of

MAX_SOURCES = 2
"""The most sources of one statement."""
WEIGHTS: dict[Sort, float] = {"path": 2.0, "identifier": 2.0, "number": 2.0, "name": 1.5, "word": 1.0}
MIN_SHARE = 0.45
"""The least share of a statement's weight that its source must contain."""
MIN_ADDED_SHARE = 0.25
"""The least share of a statement's weight that a second source must add to the first."""
MAX_READ_CHARS = 2_000_000
"""The most characters read of all sources together, divided evenly, from the start of each."""
MIN_VERBATIM_CHARS = 12
"""The minimum length of a statement, in characters, for a word-for-word match."""
MAX_VERBATIM = 1_000
"""The number of statements, from the first on, that are searched word for word; the others are found only by their
terms."""

_SPEAKER = re.compile(r"[^\W_][\w .'-]{0,23}(?:, \d{4}-\d\d-\d\d)?: ")
_DATE = re.compile(rf" \((?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})(?: \d{{4}})?|\d{{4}}(?:-\d\d){{0,2}})\)")
"""A date that `relative_dates.resolve` has added."""

Index = Mapping[str, Sequence[int]]
"""For each term, the indexes of the sources that contain it, in order."""


def sources_of(statements: Sequence[str], sources: Sequence[str]) -> list[tuple[int, ...]]:
    """For each statement the indexes of its sources in `sources`, in order; empty if no source is convincing.

    Time is linear in the length of the sources, limited to MAX_READ_CHARS.
    """
    sources = [source[: MAX_READ_CHARS // len(sources)] for source in sources]
    verbatim = _verbatim_sources(statements, sources)
    wanted = [{term.text: WEIGHTS[term.sort] for term in terms_of(statement)} for statement in statements]
    index = _index(sources, {text for terms in wanted for text in terms})
    return [
        (at,) if at is not None else _sources_of(terms, index, len(sources))
        for at, terms in zip(verbatim, wanted, strict=True)
    ]


def _verbatim_sources(statements: Sequence[str], sources: Sequence[str]) -> list[int | None]:
    """For each statement, the index of the first source that contains it word for word, or None."""
    lines = [normalised(source) for source in sources]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    whole = "\n".join(lines)
    looked_for = [normalised(_quoted(statement)) for statement in statements[:MAX_VERBATIM]]
    found = [whole.find(text) if len(text) >= MIN_VERBATIM_CHARS else -1 for text in looked_for]
    places = [bisect_right(starts, at) - 1 if at >= 0 else None for at in found]
    return places + [None] * (len(statements) - len(places))


def _quoted(statement: str) -> str:
    """The statement without the parts that a selection adds to a sentence: speaker, dates and a full stop."""
    speaker = _SPEAKER.match(statement)
    return _DATE.sub("", statement[speaker.end() if speaker else 0 :]).rstrip(". ")


def _index(sources: Sequence[str], wanted: set[str]) -> Index:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, source in enumerate(sources):
        for text in wanted.intersection(term.text for term in terms_of(source)):
            places[text].append(place)
    return places


def _sources_of(terms: Mapping[str, float], index: Index, count: int) -> tuple[int, ...]:
    """The source with the greatest shared weight, then the best for the remaining terms; the earlier on a tie."""
    alone = log(1 + count)  # the weight of a word that only one source contains
    weights = {text: weight * log((1 + count) / len(index[text])) for text, weight in terms.items() if text in index}
    # A word that no source contains is the summary's own, which counts a little against every source.
    total = sum(weights.values()) + sum(alone / 4 for text in terms if text not in index)
    chosen: list[int] = []
    left = dict(weights)
    for least in (MIN_SHARE, *[MIN_ADDED_SHARE] * (MAX_SOURCES - 1)):
        shared: defaultdict[int, float] = defaultdict(float)
        for text, weight in left.items():
            for place in index[text]:
                shared[place] += weight
        best = max(sorted(shared), key=shared.__getitem__, default=None)
        if best is None or shared[best] < max(least * total, alone):
            break
        chosen.append(best)
        left = {text: weight for text, weight in left.items() if best not in index[text]}
    return tuple(sorted(chosen))
