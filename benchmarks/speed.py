"""CPU time of our summariser: cold, and where the messages were seen before; and the memory that remembering takes."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import _lru_cache_wrapper
from time import process_time

from benchmarks import systems
from benchmarks.conversations import Conversation
from compression.core.tokens import count_tokens

BUDGET = 4000
MOST_COLD, MOST_WARM = 0.3, 0.05
"""Seconds of CPU that one conversation may take."""
ROUNDS = 3


def report(conversations: Sequence[Conversation]) -> None:
    """Best of three, so that other work on the machine counts less."""
    count_tokens("The vocabulary is loaded once a process.")
    print("\n| conversation | tokens | cold | seen before |\n| --- | --- | --- | --- |")
    for conversation in conversations:
        cold, warm = (min(seconds) for seconds in zip(*(_timed(conversation) for _ in range(ROUNDS)), strict=True))
        tokens = sum(turn.tokens for turn in conversation.turns)
        missed = " (missed)" if cold > MOST_COLD or warm > MOST_WARM else ""
        print(f"| {conversation.name} | {tokens:,} | {cold:.3f} s | {warm:.3f} s{missed} |")
    print(f"\nRemembered of all of them: {_remembered(conversations) / 2**20:.0f} MB")


def _timed(conversation: Conversation) -> tuple[float, float]:
    forget()
    return _once(conversation), _once(conversation)


def _once(conversation: Conversation) -> float:
    began = process_time()
    systems.extractive(conversation, BUDGET)
    return process_time() - began


def forget() -> None:
    """Empty every cache of the engine's but the tokenizer's vocabulary, which has no bound: stems and shapes too."""
    for cache in _caches():
        cache.cache_clear()
    gc.collect()


def _caches() -> Iterator[_lru_cache_wrapper[object]]:
    for name, module in list(sys.modules.items()):
        if name.startswith("compression.core."):
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper) and value.cache_parameters()["maxsize"] is not None:
                    yield value


def _remembered(conversations: Sequence[Conversation]) -> int:
    """Bytes that the caches hold after all the conversations."""
    forget()
    tracemalloc.start()
    for conversation in conversations:
        systems.extractive(conversation, BUDGET)
    full = tracemalloc.get_traced_memory()[0]
    forget()
    held = full - tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held
