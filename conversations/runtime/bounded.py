"""What a process remembers of the histories it has seen, so as not to work it out again. The oldest is forgotten."""

from __future__ import annotations

from threading import Lock


class Remembered[Key, Value]:
    """At most `most` values by key; safe to use from any thread."""

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
