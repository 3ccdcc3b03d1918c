"""Code with its colours, and what it costs to find them bounded: of each block, of each language, and of all."""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import lru_cache
from html import escape

from conversations.bounded_process import NotDone, OverMemory, OverTime, Pool

MAX_HIGHLIGHTED = 20_000
"""Characters of a block."""
SECONDS = 0.5
"""Of a processor that a block may take: so many characters of ordinary code take a tenth."""
MEGABYTES = 300
PATIENCE = 2.0
"""Seconds that a block waits for others' to be done."""
PAUSE = 60.0
"""Seconds for which a language has no colours that a block has taken too long in."""
MOST_LOST = 6
"""Blocks that may take too long in that time; then nothing has colours for its rest."""


class NotColoured(Exception):
    """It is to be shown without colours. One that is final takes too long by itself, another came at a bad time."""

    def __init__(self, *, is_final: bool) -> None:
        self.is_final = is_final


class Lost:
    """What took too long lately."""

    def __init__(self) -> None:
        self._lost: deque[tuple[float, str]] = deque(maxlen=MOST_LOST)

    def note(self, language: str) -> None:
        self._lost.append((time.monotonic() + PAUSE, language))

    def has(self, language: str) -> bool:
        lately = [name for until, name in list(self._lost) if until > time.monotonic()]
        return language in lately or len(lately) == MOST_LOST

    def forget(self) -> None:
        self._lost.clear()


_pool = Pool("conversations.colouring", seconds=SECONDS, megabytes=MEGABYTES)
_one_at_a_time = threading.Lock()
lost = Lost()


def coloured(code: str, language: str) -> str:
    """HTML. Raises NotColoured."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return escape(code)
    html = _coloured(code, language.lower())
    return escape(code) if html is None else html


def coloured_if_it_can_be(code: str, language: str) -> str:
    """HTML."""
    try:
        return coloured(code, language)
    except NotColoured:
        return escape(code)


@lru_cache(maxsize=200)
def _coloured(code: str, language: str) -> str | None:
    if lost.has(language):
        raise NotColoured(is_final=False)
    if not _one_at_a_time.acquire(timeout=PATIENCE):
        raise NotColoured(is_final=False)
    try:
        if lost.has(language):
            raise NotColoured(is_final=False)
        html: str | None = _pool.run((code, language))
        return html
    except (OverTime, OverMemory):
        lost.note(language)
        raise NotColoured(is_final=True) from None
    except NotDone:
        raise NotColoured(is_final=False) from None
    finally:
        _one_at_a_time.release()
