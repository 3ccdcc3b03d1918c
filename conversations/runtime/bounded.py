"""A cache of bounded size within a process, for values computed from histories; the oldest entry is dropped first."""

from __future__ import annotations

from threading import Lock


class BoundedCache[Key, Value]:
    """A cache of at most `most` values; safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._known: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        return self._known.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._known[key] = value
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
