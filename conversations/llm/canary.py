"""A mark at the head of a request that the model repeats: a reply without it suggests that the head was not read.

It is used only for servers with an unknown window that count no tokens. The mark is the same in every request to a
model, so that a server's cache of the beginning stays valid; it is removed from replies before anybody sees them.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from conversations.llm.port import Delta
from conversations.llm.request import Prompt

WORDS = "Begin every reply with the mark {}.\n\n"


def mark_of(model_id: str) -> str:
    """The mark of a model: a few letters in brackets."""
    return f"[[{hashlib.sha256(model_id.encode()).hexdigest()[:3]}]]"


def marked(prompt: Prompt, mark: str) -> Prompt:
    """The prompt with the order to repeat `mark` at its very beginning."""
    order, (first, *others) = WORDS.format(mark), prompt.messages
    if first["role"] == "system" and isinstance(first["content"], str):
        return replace(prompt, messages=(first | {"content": order + first["content"]}, *others))
    return replace(prompt, messages=({"role": "system", "content": order.strip()}, *prompt.messages))


class Listener:
    """Takes the mark out of a reply's pieces, wherever it stands; `heard` says whether it came."""

    def __init__(self, mark: str) -> None:
        self.heard = False
        self._mark = mark
        self._held = ""
        self._at_start = True

    def take(self, delta: Delta) -> Delta:
        """The piece without the mark. A possible beginning of the mark is held back until the next piece."""
        text = self._held + delta.text
        if self._mark in text:
            self.heard = True
            text = text.replace(self._mark, "")
        if self.heard and self._at_start:
            text = text.lstrip()
        is_last = delta.finish_reason is not None
        self._held = "" if is_last else self._beginning(text)
        text = text[: len(text) - len(self._held)]
        self._at_start = self._at_start and not text.strip()
        heard = self.heard if is_last and (self.heard or not delta.calls) else None
        return replace(delta, text=text, heard=heard)

    def _beginning(self, text: str) -> str:
        """The end of `text` that may be the beginning of the mark, with the blanks of a reply that has only these."""
        if self._at_start and not text.strip():
            return text
        longest = min(len(text), len(self._mark) - 1)
        cut = next((size for size in range(longest, 0, -1) if self._mark.startswith(text[-size:])), 0)
        return text[len(text) - cut :]
