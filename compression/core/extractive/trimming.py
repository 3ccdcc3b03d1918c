"""Shortens a summary that is too long: drops whole lines, those with the fewest facts for their length first."""

from __future__ import annotations

from collections.abc import Sequence

from compression.core.extractive.summariser import extract
from compression.core.facts.find import kept_facts
from compression.core.tokens import TokenCounter
from compression.core.values import Fact

LONG_LINE_SHARE = 0.25
"""A line longer than this share of the limit is too much to drop at once; sentences are selected instead."""
COUNTED_FROM = 1.2
"""The remaining lines are counted together once their sum is within this multiple of the limit."""
PLAIN_WEIGHT = 0.5
"""The weight of a line without its facts: of two lines without any, the longer one is dropped first."""


def trimmed(summary: str, facts: Sequence[Fact], *, max_tokens: int, count: TokenCounter) -> str:
    """The summary within `max_tokens`, its remaining lines verbatim; with long lines, sentences are selected."""
    if count(summary) <= max_tokens:
        return summary
    lines = summary.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    droppable = [n for n, line in enumerate(lines) if n != first and line.strip() and not line.startswith("#")]
    if any(count(lines[n]) > LONG_LINE_SHARE * max_tokens for n in droppable):
        return extract((), earlier=summary, max_tokens=max_tokens, count=count)
    left, tokens = set(range(len(lines))), sum(count(line) + 1 for line in lines)
    for number in sorted(droppable, key=lambda n: _worth(lines[n], facts, count)):
        left.discard(number)
        tokens -= count(lines[number]) + 1
        if tokens > COUNTED_FROM * max_tokens:
            continue  # lines together take nearly as many tokens as each of them
        shorter = "\n".join(lines[n] for n in sorted(left))
        if count(shorter) <= max_tokens:
            return shorter
    return extract((), earlier=summary, max_tokens=max_tokens, count=count)


def _worth(line: str, facts: Sequence[Fact], count: TokenCounter) -> float:
    """The weight of a line's facts per token."""
    return (PLAIN_WEIGHT + sum(fact.weight for fact in kept_facts(facts, line))) / count(line)
