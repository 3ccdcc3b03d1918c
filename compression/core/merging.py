"""Divides a long text into parts that can be summarised independently, and the summaries into requests that merge
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

MIN_PARTS = 3
"""The fewest requests, one after the other, that are worth a further one to merge summaries of independent parts."""
MIN_PART_TOKENS = 120
"""The shortest summary of a part. If all of them at this length do not fit one request, they are merged in steps."""
SHRINKING = 4
"""A request holds at least this many summaries of its own length, so that each step of merging has far fewer left."""
HEADER_TOKENS = 20
"""Tokens that the rendering adds to a message or a part's summary: the line with its speaker and date, or its place."""
REQUEST_WEIGHT, WRITING_WEIGHT = 4_000, 4
"""The time of any request, and of a token that it may have written, each in tokens read.

Models differ, and few summaries have all the tokens that they may have: with these weights the remaining time is about
right where all requests take the same time, and where a merge takes twice as long as a part.
"""


class Sized(Protocol):
    """Anything with a number of tokens."""

    @property
    def tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a summary that is not written yet."""

    tokens: int


@dataclass(frozen=True, slots=True)
class MergeStrategy:
    """How the summaries of independent parts become one.

    The summariser reads and writes `window` tokens beside its instructions. The last summary has `max_tokens` and takes
    in the `earlier` one of `earlier_tokens`; no other request carries it.
    """

    window: int
    max_tokens: int
    earlier: str = ""
    earlier_tokens: int = 0

    @property
    def last_room(self) -> int:
        """Tokens of summaries that the last request can hold."""
        return self._room(self.max_tokens) - self.earlier_tokens

    def is_last(self, summaries: Sequence[Sized]) -> bool:
        """Whether a single request can merge all these summaries."""
        return sum(one.tokens + HEADER_TOKENS for one in summaries) <= self.last_room

    def divided[Item: Sized](self, items: Sequence[Item]) -> tuple[int, list[tuple[Item, ...]]] | None:
        """The items in parts, and the tokens of each part's summary; None if the window is too small for parts.

        A summary is as long as all of them fit the last request, at least MIN_PART_TOKENS.
        """
        found = None
        for tokens in self._lengths():
            found = tokens, list(packed(items, self._room(tokens)))
            if len(found[1]) * (tokens + HEADER_TOKENS) <= self.last_room:
                break
        return found

    def expected(self, parts: int, tokens: int) -> list[list[float]]:
        """The weights of the requests that merge `parts` summaries of `tokens`, a list for each step."""
        steps: list[list[float]] = []
        summaries = [Size(tokens)] * parts
        while not self.is_last(summaries) and (found := self.divided(summaries)):
            tokens, groups = found
            steps.append([weight(group, tokens) for group in groups])
            summaries = [Size(tokens)] * len(groups)
        return [*steps, [weight(summaries, self.max_tokens) + self.earlier_tokens]]

    def _room(self, max_tokens: int) -> int:
        """Tokens of text beside a summary of `max_tokens`, which may be twice as long before it is trimmed."""
        return self.window - 2 * max_tokens

    def _lengths(self) -> Iterator[int]:
        """The lengths that a part's summary may have, the longest first; none if the window is too small."""
        least = min(MIN_PART_TOKENS, self.max_tokens)
        tokens = self.max_tokens
        while tokens >= least:
            room = SHRINKING * (tokens + HEADER_TOKENS)
            if room <= self._room(tokens) and SHRINKING * (least + HEADER_TOKENS) <= self.last_room:
                yield tokens
            tokens = least if least < tokens < least * 10 / 9 else tokens * 9 // 10


def weight(items: Sequence[Sized], max_tokens: int) -> float:
    """How long a request for a summary of these items takes, in tokens read."""
    return REQUEST_WEIGHT + sum(one.tokens + HEADER_TOKENS for one in items) + WRITING_WEIGHT * max_tokens


def packed[Item: Sized](items: Sequence[Item], room: int | None) -> Iterator[tuple[Item, ...]]:
    """The items in order, joined into parts of at most `room` tokens; None: a single one."""
    part: list[Item] = []
    taken = 0
    for item in items:
        tokens = item.tokens + HEADER_TOKENS
        if part and room is not None and taken + tokens > room:
            yield tuple(part)
            part, taken = [], 0
        part.append(item)
        taken += tokens
    yield tuple(part)
