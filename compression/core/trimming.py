"""A summary that came out too long: whole lines go, those with the fewest facts for their length first."""

from __future__ import annotations

from collections.abc import Sequence

from compression.core.extractive.summariser import extract
from compression.core.facts import kept_facts
from compression.core.tokens import TokenCounter
from compression.core.values import Fact

LONG_LINE = 0.25
"""Of the whole: a line that is longer holds too much to go at once, and is selected from."""
PLAIN = 0.5
"""Weight of a line beside its facts: of two without any, the longer one goes."""


def trimmed(summary: str, facts: Sequence[Fact], *, max_tokens: int, count: TokenCounter) -> str:
    """The summary in at most `max_tokens`, what stays word for word; from long texts is selected."""
    if count(summary) <= max_tokens:
        return summary
    lines = summary.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    droppable = [n for n, line in enumerate(lines) if n != first and line.strip() and not line.startswith("#")]
    if any(count(lines[n]) > LONG_LINE * max_tokens for n in droppable):
        return extract((), earlier=summary, max_tokens=max_tokens, count=count)
    left = set(range(len(lines)))
    for number in sorted(droppable, key=lambda n: _worth(lines[n], facts, count)):
        left.discard(number)
        shorter = "\n".join(lines[n] for n in sorted(left))
        if count(shorter) <= max_tokens:
            return shorter
    return extract((), earlier=summary, max_tokens=max_tokens, count=count)


def _worth(line: str, facts: Sequence[Fact], count: TokenCounter) -> float:
    return (PLAIN + sum(fact.weight for fact in kept_facts(facts, line))) / count(line)
