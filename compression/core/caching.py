"""Caches for the results of reading texts, limited in characters, so that long texts cannot fill a process's memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, cast

LARGEST_SHARE = 1 / 8
"""A text that takes more than this share of a cache is not kept."""

type Reader = Callable[..., Any]


def cached_words[F: Reader](*, entries: int, chars: int) -> Callable[[F], F]:
    """Keep the results for the latest `entries` texts of at most `chars` characters; longer ones are read each time."""

    def decorate(read: F) -> F:
        kept = lru_cache(maxsize=entries)(read)

        @wraps(read)
        def cached(text: str, *args: Any) -> Any:
            return (kept if len(text) <= chars else read)(text, *args)

        cached.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return cast(F, cached)

    return decorate


def cached_texts[F: Reader](*, chars: int) -> Callable[[F], F]:
    """Keep the results for the latest texts that have at most `chars` characters together."""

    def decorate(read: F) -> F:
        kept: OrderedDict[tuple[Hashable, ...], Any] = OrderedDict()
        lock, total = Lock(), 0

        @wraps(read)
        def cached(text: str, *args: Any) -> Any:
            nonlocal total
            key = (text, *args)
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            result = read(text, *args)
            if len(text) > LARGEST_SHARE * chars:
                return result
            with lock:
                total += 0 if key in kept else len(text)
                kept[key] = result
                while total > chars:
                    oldest, _ = kept.popitem(last=False)
                    total -= len(str(oldest[0]))
            return result

        def clear() -> None:
            nonlocal total
            with lock:
                kept.clear()
                total = 0

        cached.cache_clear = clear  # type: ignore[attr-defined]
        return cast(F, cached)

    return decorate
