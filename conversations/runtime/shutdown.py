"""Notifies long-lived listeners that the server is shutting down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conversations.runtime.event_types import Signal
from conversations.runtime.subscription import Event, Listener

END = Event(Signal.STREAM_END)
"""A listener's last event: its connection ends, and the client reconnects to another process or after the restart."""

_staying: set[Listener] = set()


@contextmanager
def notified(listener: Listener) -> Iterator[None]:
    """Send END to the listener if the server stops within the `with` block."""
    _staying.add(listener)
    try:
        yield
    finally:
        _staying.discard(listener)


def notify_all() -> None:
    """Send END to all listeners. Call it on their loop."""
    for listener in _staying:
        listener.put(END)
