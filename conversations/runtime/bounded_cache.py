"""Bounded caches of a process for computed or queried values. The oldest entry is dropped first."""

from __future__ import annotations

from threading import Lock


class BoundedCache[Key, Value]:
    """A cache of at most `most` values, the oldest dropped first; safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._known: dict[Key, Value] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def get(self, key: Key) -> Value | None:
        return self._known.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Insert or replace; the key becomes the most recent."""
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = value
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]

    def pop(self, key: Key) -> Value | None:
        return self._known.pop(key, None)

    def clear(self) -> None:
        self._known.clear()
