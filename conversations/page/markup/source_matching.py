"""Where a summary's statements come from. Summaries cite nothing, since that would cost tokens: it is found again here.

A statement comes from the first message that says it word for word; else from the one that shares most with it: paths,
identifiers, numbers, names and words, each the heavier the fewer messages have it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import log

from compression.core.extractive.terms import Sort, terms_of
from compression.core.facts import normalised

MAX_SOURCES = 2
"""Sources of one statement."""
WEIGHTS: dict[Sort, float] = {"path": 2.0, "identifier": 2.0, "number": 2.0, "name": 1.5, "word": 1.0}
SHARED = 0.45
"""Of a statement's weight, what its source has of it at least."""
MORE = 0.25
"""Of a statement's weight, what a second source has that the first has not."""
READ = 2_000_000
"""Characters of all sources together that are looked through: of each as many as of any other, from its start."""
LONG = 12
"""Characters from which on being said word for word is no chance."""

Index = Mapping[str, Sequence[int]]
"""The places of the sources that have a term, in order."""


def sources_of(statements: Sequence[str], sources: Sequence[str]) -> list[tuple[int, ...]]:
    """For each statement the places of its sources in `sources`, in order; none where none is convincing.

    Linear in the length of the sources, of which no more than READ is read.
    """
    sources = [source[: READ // len(sources)] for source in sources]
    said = _said(statements, sources)
    wanted = [{term.text: WEIGHTS[term.sort] for term in terms_of(statement)} for statement in statements]
    index = _index(sources, {text for terms in wanted for text in terms})
    return [
        (at,) if at is not None else _sources_of(terms, index, len(sources))
        for at, terms in zip(said, wanted, strict=True)
    ]


def _said(statements: Sequence[str], sources: Sequence[str]) -> list[int | None]:
    """The first source that has each statement word for word."""
    lines = [normalised(source) for source in sources]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    whole = "\n".join(lines)
    found = [whole.find(text) if len(text := normalised(one)) >= LONG else -1 for one in statements]
    return [bisect_right(starts, at) - 1 if at >= 0 else None for at in found]


def _index(sources: Sequence[str], wanted: set[str]) -> Index:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, source in enumerate(sources):
        for text in wanted.intersection(term.text for term in terms_of(source)):
            places[text].append(place)
    return places


def _sources_of(terms: Mapping[str, float], index: Index, count: int) -> tuple[int, ...]:
    """The source that shares most, then the one that has most of the rest; the earlier of two that share as much."""
    alone = log(1 + count)  # what a word weighs that stands in one source alone
    weights = {text: weight * log((1 + count) / len(index[text])) for text, weight in terms.items() if text in index}
    # A word that no source has is the summary's own: it speaks against each of them, but not much.
    total = sum(weights.values()) + sum(alone / 4 for text in terms if text not in index)
    found: list[int] = []
    left = dict(weights)
    for least in (SHARED, *[MORE] * (MAX_SOURCES - 1)):
        shared: defaultdict[int, float] = defaultdict(float)
        for text, weight in left.items():
            for place in index[text]:
                shared[place] += weight
        best = max(sorted(shared), key=shared.__getitem__, default=None)
        if best is None or shared[best] < max(least * total, alone):
            break
        found.append(best)
        left = {text: weight for text, weight in left.items() if best not in index[text]}
    return tuple(sorted(found))
