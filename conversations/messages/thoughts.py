"""Collects a model's thoughts before its reply: their text, up to a limit, and their duration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from compression.core.tokens import count_tokens
from conversations.llm.thinking.thoughts import CUT, MAX_THOUGHT_CHARS, Returned


@dataclass(slots=True)
class Thoughts:
    """The thoughts of one reply while they come; `length` counts the characters of `pieces`.

    `returned` are the thoughts as the provider wants them back.
    """

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    is_cut: bool = False
    ms: int = 0
    returned: Returned | None = None
    counted: int = 0
    _since: float | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces) + (CUT if self.is_cut else "")

    @property
    def ms_so_far(self) -> int:
        """The milliseconds that they have taken so far."""
        return self.ms + (round(1000 * (time.monotonic() - self._since)) if self._since is not None else 0)

    @property
    def so_far(self) -> dict[str, Any]:
        """The message's columns while the reply is written; empty without thoughts."""
        return {"thoughts": self.text, "thought_ms": self.ms_so_far} if self.pieces else {}

    def fitting(self, piece: str) -> str:
        """The part of a piece that is shown and kept."""
        return piece[: MAX_THOUGHT_CHARS - self.length]

    def add(self, piece: str) -> None:
        if self._since is None:
            self._since = time.monotonic()
        kept = self.fitting(piece)
        self.is_cut = self.is_cut or len(kept) < len(piece)
        if kept:
            self.pieces.append(kept)
            self.length += len(kept)

    def pause(self) -> None:
        """Stop the clock: the model writes, calls tools or has ended."""
        self.ms, self._since = self.ms_so_far, None

    def count(self) -> None:
        """Count the tokens by the site's own count; takes time linear in their length."""
        self.counted = count_tokens(self.text)

    def columns(self, *, reported: int) -> dict[str, Any]:
        """The message's columns; `reported` are the tokens by the provider, 0 if it reports none."""
        self.pause()
        return {
            "thoughts": self.text,
            "thought_ms": self.ms if self.pieces else None,
            "thought_tokens": reported or self.counted or None,
            "returned_thoughts": self.returned,
        }
