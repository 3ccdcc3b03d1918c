"""Syntax highlighting whose processor time is bounded for each block, for each language and for the process."""

from __future__ import annotations

import threading
import time
from collections import deque
from html import escape

from compression.core.caching import cached_texts
from conversations.runtime.bounded_process import JobFailed, OverMemory, OverTime, Pool

MAX_HIGHLIGHTED = 20_000
"""The most characters of a highlighted block."""
MAX_BLOCK_SECONDS = 0.5
"""Processor seconds allowed for a block; ordinary code of full length takes a tenth of them."""
MAX_WORKER_MEGABYTES = 300
"""Memory allowed for the worker process."""
MAX_WAIT_SECONDS = 2.0
"""The most seconds that a block waits for other blocks."""
PAUSE_SECONDS = 60.0
"""Seconds without highlighting for a language after one of its blocks took too long."""
MAX_SLOW_BLOCKS = 6
"""Blocks that may take too long within PAUSE_SECONDS; then all highlighting pauses."""


class NotColoured(Exception):
    """The block must be shown without colours. `is_final`: the block itself takes too long; else a retry may work."""

    def __init__(self, *, is_final: bool) -> None:
        self.is_final = is_final


class SlowLanguages:
    """The languages whose blocks took too long within the last PAUSE_SECONDS."""

    def __init__(self) -> None:
        self._lost: deque[tuple[float, str]] = deque(maxlen=MAX_SLOW_BLOCKS)

    def note(self, language: str) -> None:
        self._lost.append((time.monotonic() + PAUSE_SECONDS, language))

    def has(self, language: str) -> bool:
        lately = [name for until, name in list(self._lost) if until > time.monotonic()]
        return language in lately or len(lately) == MAX_SLOW_BLOCKS

    def forget(self) -> None:
        self._lost.clear()


_pool = Pool("conversations.page.markup.highlight_worker", seconds=MAX_BLOCK_SECONDS, megabytes=MAX_WORKER_MEGABYTES)
_one_at_a_time = threading.Lock()
lost = SlowLanguages()


def coloured(code: str, language: str) -> str:
    """The code as highlighted HTML, or escaped if it is too long or its language unknown. Raises NotColoured."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return escape(code)
    html = _coloured(code, language.lower())
    return escape(code) if html is None else html


def coloured_if_it_can_be(code: str, language: str) -> str:
    """The code as highlighted HTML, or escaped if it cannot be highlighted now."""
    try:
        return coloured(code, language)
    except NotColoured:
        return escape(code)


@cached_texts(chars=1_000_000)
def _coloured(code: str, language: str) -> str | None:
    if lost.has(language):
        raise NotColoured(is_final=False)
    if not _one_at_a_time.acquire(timeout=MAX_WAIT_SECONDS):
        raise NotColoured(is_final=False)
    try:
        if lost.has(language):
            raise NotColoured(is_final=False)
        html: str | None = _pool.run((code, language))
        return html
    except (OverTime, OverMemory):
        lost.note(language)
        raise NotColoured(is_final=True) from None
    except JobFailed:
        raise NotColoured(is_final=False) from None
    finally:
        _one_at_a_time.release()
