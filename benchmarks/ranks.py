"""Where the evidence of a question stands among the passages that recall ranks: recall@k and MRR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import Any, NamedTuple

FIRST = (1, 5, 10)


class Found(NamedTuple):
    """The shares of the evidence among the first FIRST, and one over the place of the first of it (0: not there)."""

    at: tuple[float, ...]
    reciprocal: float


@contextmanager
def ranking() -> Iterator[list[Any]]:
    """The quotes that the latest recall ranked above nothing, the best first."""
    from compression.core.recall import recall

    ranks: list[Any] = []
    ranked_passages = recall.ranked_passages

    def noting(*args: Any, **more: Any) -> list[tuple[float, recall.Quote]]:
        found = ranked_passages(*args, **more)
        ranks[:] = [quote for score, quote in found if score > 0]
        return found

    recall.ranked_passages = noting
    try:
        yield ranks
    finally:
        recall.ranked_passages = ranked_passages


def found[Key](wanted: set[Key], ranks: Sequence[Key]) -> Found:
    """How early the wanted ones stand in the ranks, each counted at its first place."""
    order = list(dict.fromkeys(ranks))
    first = next((place for place, one in enumerate(order, 1) if one in wanted), 0)
    return Found(tuple(len(wanted & set(order[:k])) / len(wanted) for k in FIRST), 1 / first if first else 0.0)


def written(rows: Sequence[Found]) -> str:
    """The means of the rows as they are printed."""
    at = ", ".join(f"@{k} {mean(row.at[place] for row in rows):.3f}" for place, k in enumerate(FIRST))
    return f"recall {at}, MRR {mean(row.reciprocal for row in rows):.3f}"
