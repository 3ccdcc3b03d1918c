"""Who may wait for hours is told when the server stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conversations.runtime.event_types import Signal
from conversations.runtime.subscription import Event, Listener

END = Event(Signal.STREAM_END)
"""The last that a listener hears: the connection ends, and another one goes on elsewhere, or here after a start."""

_staying: set[Listener] = set()


@contextmanager
def told(listener: Listener) -> Iterator[None]:
    """Have it hear of the end, should that come meanwhile."""
    _staying.add(listener)
    try:
        yield
    finally:
        _staying.discard(listener)


def tell_all() -> None:
    """On the loop that listens."""
    for listener in _staying:
        listener.put(END)
