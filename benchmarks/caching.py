"""Scripted prompt caches of providers, and the units that a request costs with them.

A unit is an uncached token of input; a cached one is .1 of it, a token of output 4. What a cache takes to be written is
not counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from conversations.llm.providers.anthropic_blocks import blocks_of
from conversations.llm.request import Prompt

CACHED, OUTPUT = 0.1, 4
LIFETIME = 10
"""Requests after which what no request has read again is forgotten: ten minutes at a turn a minute."""
STEP, LEAST = 128, 1_024
"""OpenAI's: prefixes are kept in steps of STEP tokens, from LEAST on."""
LOOK_BACK = 20
"""Anthropic's: the blocks before a mark at which an earlier request may have left its own."""
OVERHEAD = 4
"""Tokens of a message beside its text."""


@dataclass
class Tally:
    """Tokens of requests. `units` is the cost of them all."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def add(self, *, input: int, cached: int, output: int) -> None:
        self.input, self.cached, self.output = self.input + input, self.cached + cached, self.output + output

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.input + other.input, self.cached + other.cached, self.output + other.output)

    @property
    def units(self) -> float:
        return self.input - self.cached + CACHED * self.cached + OUTPUT * self.output

    @property
    def share(self) -> float:
        return self.cached / self.input if self.input else 0.0


class Cache(Protocol):
    """A provider's cache. A request is (tokens of it, tokens of it that the cache had)."""

    def read(self, prompt: Prompt, *, recurs: bool) -> tuple[int, int]: ...


@dataclass
class Prefixes:
    """As OpenAI's: every prefix of a request is kept, in steps of STEP tokens."""

    known: dict[int, int] = field(default_factory=dict)
    """The request that a prefix, by its hash, was last a part of."""
    requests: int = 0
    _last: list[dict[str, Any]] = field(default_factory=list)
    _tokens: array[int] = field(default_factory=lambda: array("I"))
    _ends: list[int] = field(default_factory=list)
    _chain: list[int] = field(default_factory=list)

    def read(self, prompt: Prompt, *, recurs: bool) -> tuple[int, int]:
        self._take(prompt.messages)
        self.requests += 1
        hit, is_kept = 0, True
        for number, key in enumerate(self._chain, 1):
            is_kept = is_kept and self.requests - self.known.get(key, -LIFETIME) <= LIFETIME
            hit = number if is_kept else hit
            self.known[key] = self.requests
        cached = hit * STEP
        return len(self._tokens), cached if cached >= LEAST else 0

    def _take(self, messages: Sequence[dict[str, Any]]) -> None:
        """Make the request's tokens and hashes of those of the last one, as far as both begin alike."""
        same = 0
        for one, other in zip(messages, self._last, strict=False):
            if one != other:
                break
            same += 1
        begin = self._ends[same - 1] if same else 0
        del self._tokens[begin:], self._ends[same:], self._chain[begin // STEP :]
        for message in messages[same:]:
            self._tokens.extend(_encoded(message["role"], message["content"]))
            self._ends.append(len(self._tokens))
        for at in range(len(self._chain) * STEP, len(self._tokens) - STEP + 1, STEP):
            before = self._chain[-1] if self._chain else 0
            self._chain.append(hash((before, self._tokens[at : at + STEP].tobytes())))
        self._last = list(messages)


@dataclass
class Marks:
    """As Anthropic's: what stands before a mark is kept, and is found within LOOK_BACK blocks before a later mark."""

    known: dict[int, int] = field(default_factory=dict)
    requests: int = 0

    def read(self, prompt: Prompt, *, recurs: bool) -> tuple[int, int]:
        system, messages = blocks_of(prompt, recurs=recurs)
        blocks = [("system", block) for block in system]
        blocks += [(message["role"], block) for message in messages for block in message["content"]]
        keys, sizes, before, size = [], [], 0, 0
        for role, block in blocks:
            before, size = hash((before, role, block["text"])), size + _length(role, block["text"])
            keys.append(before)
            sizes.append(size)
        marks = [at for at, (_, block) in enumerate(blocks) if "cache_control" in block]
        self.requests += 1
        hit = max((found for at in marks if (found := self._found(keys, at)) is not None), default=None)
        for at in {*marks, *([] if hit is None else [hit])}:
            self.known[keys[at]] = self.requests
        cached = 0 if hit is None else sizes[hit]
        return size, cached if cached >= LEAST else 0

    def _found(self, keys: list[int], mark: int) -> int | None:
        """The last block up to a mark, within LOOK_BACK, at which an earlier request has left a mark."""
        places = range(mark, max(mark - LOOK_BACK, -1), -1)
        return next((at for at in places if self.requests - self.known.get(keys[at], -LIFETIME) <= LIFETIME), None)


@cache
def _length(role: str, text: str) -> int:
    return len(_encoded(role, text))


@cache
def _encoded(role: str, text: str) -> array[int]:
    """The tokens of a message; those beside its text are the same for all of a role."""
    from compression.core.tokens import _encoding

    return array("I", [hash(role) % 1_000 + at for at in range(OVERHEAD)]) + array(
        "I", _encoding().encode_ordinary(text)
    )
