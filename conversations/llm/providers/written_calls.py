"""Reads tool calls that a model writes into its text, where its server does not recognise them.

Servers find a call by its opening tag; a model that leaves the tag out, or a server without a parser for its model,
sends the call as text, and the agent stops. The last words of a reply are calls if they are nothing else, in one of
the forms of `written_forms`, outside a block of code, and name tools of the request.
"""

from __future__ import annotations

import re

from conversations.llm.providers.written_forms import OPENINGS, Schemas, WrittenCall, begins_call, calls_in

FENCE = "```"
MAX_HELD_CHARS = 200_000
"""The most characters that are held back; a longer text is no call."""
CHECKED_CHARS = 300
"""The characters by which a beginning of a call must be recognisable."""

_BEGINNINGS = {opening[:size] for opening in OPENINGS for size in range(1, len(opening))}
_LONGEST = max(map(len, _BEGINNINGS))
_OPENING = re.compile("|".join(map(re.escape, OPENINGS)))


class WrittenCalls:
    """Separates calls at the end of a reply from its text, while it streams. Without `tools`, all of it is text."""

    def __init__(self, tools: Schemas) -> None:
        self._tools = tools
        self._held = ""
        self._opens = self._is_checked = self._is_code = False

    def take(self, piece: str) -> str:
        """The text of a piece; from a possible beginning of a call on, it is held back."""
        if not self._tools or not piece:
            return piece
        self._held += piece
        if not self._opens:
            return self._until_opening()
        return "" if self._may_be_calls() else self._released()

    def rest(self, *, is_whole: bool) -> tuple[str, list[WrittenCall]]:
        """(the remaining text, no calls), or ("", the calls) of a reply that is `is_whole`, not cut off."""
        calls = list(calls_in(self._held, self._tools)) if self._opens and is_whole else []
        if calls and None not in calls:
            return "", [call for call in calls if call]
        return self._released(), []

    def _until_opening(self) -> str:
        """The held text before the first opening outside code; what may become an opening stays held."""
        held, at = self._held, 0
        while found := _OPENING.search(held, at):
            start = found.start()
            self._is_code ^= held.count(FENCE, at, start) % 2 == 1
            if not self._is_code and held[max(start - 1, 0) : start] != "`":
                self._opens, self._held = True, held[start:]
                return held[:start] if self._may_be_calls() else held[:start] + self._released()
            at = found.end()
        end = max(at, len(held) - _unfinished(held))
        self._is_code ^= held.count(FENCE, at, end) % 2 == 1
        self._held = held[end:]
        return held[:end]

    def _may_be_calls(self) -> bool:
        """Whether the held text may still be calls: its beginning is looked at once, as soon as it is there."""
        if len(self._held) > MAX_HELD_CHARS:
            return False
        if self._is_checked or len(self._held) < CHECKED_CHARS:
            return True
        self._is_checked = True
        return begins_call(self._held)

    def _released(self) -> str:
        text, self._held = self._held, ""
        self._tools, self._opens = {}, False
        return text


def _unfinished(text: str) -> int:
    """The length of the end of a text that may become an opening, or a fence."""
    last = text[-CHECKED_CHARS:]
    if last.endswith("`"):
        return len(last) - len(last.rstrip("`"))
    return next((size for size in range(min(_LONGEST, len(text)), 0, -1) if text[-size:] in _BEGINNINGS), 0)
