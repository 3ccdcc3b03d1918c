"""What becomes of summaries as they grow old: shorter, then one with the next; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.summariser import extract
from compression.core.tokens import TokenCounter
from compression.core.truncation import gathered
from compression.core.values import Checkpoint

SHARES = (1.0, 0.6, 0.3)
"""What a summary may take at age 0, 1 and 2, of what it took at birth."""

OLDEST = len(SHARES) - 1
MIN_SUMMARY_TOKENS = 8
"""Tokens under which no summary is shortened: a few words."""

SEPARATOR = 2
"""Tokens that stand between two summaries, at most."""


def aged(checkpoint: Checkpoint, *, count: TokenCounter) -> Checkpoint:
    """The checkpoint one step older; at the last step it stays the same for good."""
    if checkpoint.age == OLDEST:
        return checkpoint
    return replace(_shortened(checkpoint, _limit(checkpoint), count), number=0, age=checkpoint.age + 1)


def cost(checkpoints: Sequence[Checkpoint]) -> int:
    """Tokens that they take, with what separates them."""
    return sum(one.tokens + SEPARATOR for one in checkpoints)


def aged_tokens(checkpoints: Sequence[Checkpoint]) -> int:
    """The most that they cost once all are one step older."""
    return sum(min(one.tokens, _limit(one)) + SEPARATOR for one in checkpoints)


def fitted(checkpoints: Sequence[Checkpoint], room: int, *, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """The checkpoints within `room` tokens: the two oldest become one, then the oldest are shortened.

    None is shortened to less than an equal share of the room. More than two are merged only where that would not be
    even a few words, as after a switch to a small window.
    """
    kept = tuple(checkpoints)
    if cost(kept) > room and len(kept) > 1:
        kept = _merged(kept, room, count)
    while len(kept) > 1 and len(kept) * (MIN_SUMMARY_TOKENS + SEPARATOR) > room:
        kept = _merged(kept, room, count)
    for number, one in enumerate(kept):
        if (over := cost(kept) - room) <= 0:
            break
        limit = max(one.tokens - over, _share(room, kept))
        kept = (*kept[:number], _shortened(one, limit, count), *kept[number + 1 :])
    return kept


def _limit(checkpoint: Checkpoint) -> int:
    """What it may take when it is one step older."""
    return max(MIN_SUMMARY_TOKENS, int(SHARES[min(checkpoint.age + 1, OLDEST)] * checkpoint.birth_tokens))


def _share(room: int, checkpoints: Sequence[Checkpoint]) -> int:
    return room // len(checkpoints) - SEPARATOR


def _merged(checkpoints: tuple[Checkpoint, ...], room: int, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """The same with the two oldest as one, as long as its age allows and the others leave room for."""
    first, second, *others = checkpoints
    birth_tokens = first.birth_tokens + second.birth_tokens
    both = replace(
        second,
        level=min(first.level, second.level),
        summary=gathered(f"{first.summary}\n\n{second.summary}"),
        birth_tokens=birth_tokens,
        original_tokens=first.original_tokens + second.original_tokens,
        first_id=first.first_id,
        age=OLDEST,
        provisional=first.provisional or second.provisional,
        stragglers=(),  # its run begins where the conversation does
    )
    left = max(room - cost(others) - SEPARATOR, _share(room, checkpoints[1:]))
    return _extracted(both, min(int(SHARES[OLDEST] * birth_tokens), left), count), *others


def _shortened(checkpoint: Checkpoint, limit: int, count: TokenCounter) -> Checkpoint:
    return checkpoint if checkpoint.tokens <= limit else _extracted(checkpoint, limit, count)


def _extracted(checkpoint: Checkpoint, limit: int, count: TokenCounter) -> Checkpoint:
    """A new value of at most `limit` tokens, though of a few words."""
    limit = max(limit, MIN_SUMMARY_TOKENS)
    text = extract((), earlier=checkpoint.summary, max_tokens=limit, count=count, sparse=True)
    text = text or _beginning(checkpoint.summary, limit, count)
    return replace(checkpoint, number=0, summary=text, tokens=count(text))


def _beginning(summary: str, limit: int, count: TokenCounter) -> str:
    """The first words that are said under a heading: where no whole sentence fits."""
    words = " ".join(line for line in summary.splitlines() if not line.startswith("#")).split()[:limit]
    while words and count(f"{' '.join(words)} …") > limit:
        words.pop()
    return f"{' '.join(words)} …".strip()
