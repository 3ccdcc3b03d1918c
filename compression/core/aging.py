"""Shortens summaries as they age, then merges the two oldest; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compression.core.extractive.summariser import extract
from compression.core.tokens import TokenCounter
from compression.core.truncation import merge_notes
from compression.core.values import Checkpoint

AGE_SHARES = (1.0, 0.6, 0.3)
"""The share of its first length that a summary may have at age 0, 1 and 2."""

OLDEST_AGE = len(AGE_SHARES) - 1
MIN_SUMMARY_TOKENS = 8
"""No summary is shortened below this many tokens: a few words."""

SEPARATOR_TOKENS = 2
"""The most tokens that the blank line between two summaries takes."""


def aged(checkpoint: Checkpoint, *, count: TokenCounter) -> Checkpoint:
    """The checkpoint one age older and shortened to fit it; a checkpoint of the last age is returned unchanged."""
    if checkpoint.age == OLDEST_AGE:
        return checkpoint
    return replace(_shortened(checkpoint, _limit(checkpoint), count), number=0, age=checkpoint.age + 1)


def cost(checkpoints: Sequence[Checkpoint]) -> int:
    """Tokens that the checkpoints take in the context, separators included."""
    return sum(checkpoint.tokens + SEPARATOR_TOKENS for checkpoint in checkpoints)


def aged_tokens(checkpoints: Sequence[Checkpoint]) -> int:
    """The most tokens that the checkpoints can take once each is one age older, separators included."""
    return sum(min(checkpoint.tokens, _limit(checkpoint)) + SEPARATOR_TOKENS for checkpoint in checkpoints)


def fitted(checkpoints: Sequence[Checkpoint], room: int, *, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """The checkpoints within `room` tokens: the two oldest are merged, then the oldest are shortened.

    No checkpoint is shortened to less than an equal share of the room. More than two are merged only where an equal
    share would be less than MIN_SUMMARY_TOKENS, as after a switch to a small window.
    """
    kept = tuple(checkpoints)
    if cost(kept) > room and len(kept) > 1:
        kept = _merged(kept, room, count)
    while len(kept) > 1 and len(kept) * (MIN_SUMMARY_TOKENS + SEPARATOR_TOKENS) > room:
        kept = _merged(kept, room, count)
    for index, checkpoint in enumerate(kept):
        if (over := cost(kept) - room) <= 0:
            break
        limit = max(checkpoint.tokens - over, _share(room, kept))
        kept = (*kept[:index], _shortened(checkpoint, limit, count), *kept[index + 1 :])
    return kept


def _limit(checkpoint: Checkpoint) -> int:
    """The most tokens that the checkpoint may take at its next age."""
    return max(MIN_SUMMARY_TOKENS, int(AGE_SHARES[min(checkpoint.age + 1, OLDEST_AGE)] * checkpoint.birth_tokens))


def _share(room: int, checkpoints: Sequence[Checkpoint]) -> int:
    return room // len(checkpoints) - SEPARATOR_TOKENS


def _merged(checkpoints: tuple[Checkpoint, ...], room: int, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """The checkpoints with the two oldest merged into one, within its age's limit and the room the others leave."""
    first, second, *others = checkpoints
    birth_tokens = first.birth_tokens + second.birth_tokens
    merged = replace(
        second,
        level=min(first.level, second.level),
        summary=merge_notes(f"{first.summary}\n\n{second.summary}"),
        birth_tokens=birth_tokens,
        original_tokens=first.original_tokens + second.original_tokens,
        first_id=first.first_id,
        age=OLDEST_AGE,
        provisional=first.provisional or second.provisional,
        stragglers=(),  # the merged run begins at the conversation's first message: none can come before it
    )
    left = max(room - cost(others) - SEPARATOR_TOKENS, _share(room, checkpoints[1:]))
    return _extracted(merged, min(int(AGE_SHARES[OLDEST_AGE] * birth_tokens), left), count), *others


def _shortened(checkpoint: Checkpoint, limit: int, count: TokenCounter) -> Checkpoint:
    return checkpoint if checkpoint.tokens <= limit else _extracted(checkpoint, limit, count)


def _extracted(checkpoint: Checkpoint, limit: int, count: TokenCounter) -> Checkpoint:
    """The checkpoint with a summary selected from its own sentences, of at most `limit` tokens.

    The limit is never less than MIN_SUMMARY_TOKENS.
    """
    limit = max(limit, MIN_SUMMARY_TOKENS)
    text = extract((), earlier=checkpoint.summary, max_tokens=limit, count=count, sparse=True)
    text = text or _beginning(checkpoint.summary, limit, count)
    return replace(checkpoint, number=0, summary=text, tokens=count(text))


def _beginning(summary: str, limit: int, count: TokenCounter) -> str:
    """The first words below the headings, for a limit that no whole sentence fits."""
    words = " ".join(line for line in summary.splitlines() if not line.startswith("#")).split()[:limit]
    while words and count(f"{' '.join(words)} …") > limit:
        words.pop()
    return f"{' '.join(words)} …".strip()
