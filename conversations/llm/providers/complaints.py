"""Separates a server's own words in an error from those of the request that it quotes.

The site remembers a server's refusals for everybody. An error quotes parts of the request, so a person could otherwise
write "tools are not supported" into a field, and the site would believe it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from conversations.llm.thinking.thoughts import DETAILS, TEXT_FIELDS

MAX_READ_CHARS = 4_000
"""The characters of an error that are looked at: it is read by many patterns while other people wait."""
MAX_CHARS = 2_000
"""The characters of an error that count as evidence."""
RUN = 12
"""The shortest run of characters, shared by an error and a request, that counts as a quotation."""
OMITTED = "…"
STRUCTURE = ("role", "type")
"""Fields whose names and values are the protocol's own words."""
PROTOCOL = frozenset({
    *STRUCTURE, *TEXT_FIELDS, DETAILS, "content", "name", "image_url", "id", "tool_calls", "tool_call_id", "signature",
    "cache_control", "ttl", "scope", "strict", "annotations", "citations", "caller", "refusal", "function_call",
    "defer_loading", "input_examples", "eager_input_streaming", "allowed_callers",
})  # fmt: skip
"""Names of fields of messages and tools, which an error of the server may name."""

_QUOTED = re.compile(r"""(['"`])(.{1,200}?)\\?\1""", re.DOTALL)
_WORD = re.compile(r"\w+")


def complaint_in(body: object) -> str:
    """The text of a refusal's body, cut at MAX_READ_CHARS."""
    return str(body)[:MAX_READ_CHARS]


def own_words(complaint: str, request: Mapping[str, Any]) -> str:
    """The beginning of an error, of MAX_CHARS at most, with OMITTED in place of what the request could have put there.

    These are runs of RUN characters or more that the request has too, and shorter strings of the request in quotes. The
    names of the request's own fields at its top are the server's words. Takes seconds for a request of many megabytes:
    run it in a thread.
    """
    texts = list(_texts(request))
    strings = {text.strip() for text in texts if len(text) <= 200}
    words = complaint[:MAX_CHARS]
    words = _QUOTED.sub(lambda quoted: OMITTED if quoted[2].strip("\\ ") in strings else quoted[0], words)
    return _without_runs(words, "\n".join(text for text in texts if len(text) >= RUN))


def _without_runs(words: str, text: str) -> str:
    kept, place = [], 0
    find = cache(text.find)
    while found := _WORD.search(words, place):
        start, end = found.start(), found.start() + RUN
        at = find(words[start:end]) if end <= len(words) else -1
        if at < 0:
            kept.append(words[place : found.end()])
            place = found.end()
            continue
        while end < len(words):  # the run goes on where it was found, else wherever its end stands
            if text[at + RUN : at + RUN + 1] == words[end]:
                at += 1
            elif (at := find(words[end - RUN + 1 : end + 1])) < 0:
                break
            end += 1
        kept += [words[place:start], OMITTED]
        place = end
    return "".join([*kept, words[place:]])


def _texts(value: Any, *, is_top: bool = True) -> Iterator[str]:
    """The strings of a request in no order, with the names of nested fields, without the values of STRUCTURE."""
    waiting: list[tuple[Any, bool]] = [(value, is_top)]
    while waiting:
        value, is_top = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            if not is_top:
                yield from (name for name in value if isinstance(name, str) and name not in PROTOCOL)
            waiting += [(part, False) for name, part in value.items() if name not in STRUCTURE]
        elif isinstance(value, list | tuple):
            waiting += [(part, False) for part in value]
