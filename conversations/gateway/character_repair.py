"""Makes the characters of a provider's answer whole: JSON can escape half of one, and streams can split it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from contextlib import aclosing
from typing import Any

from conversations.gateway.history_repair import without_surrogates
from conversations.gateway.protocol import Events
from conversations.llm.providers.text_repair import WholeCharacters

_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""An escaped surrogate; most stand beside their other half."""
_HALF_BYTES = re.compile(_HALF.pattern.encode())

type _Place = tuple[object, ...]


async def with_whole_characters(events: Events) -> Events:
    """The events of a stream; one with half of a character is rewritten, the others pass unchanged.

    The other half may arrive in a later event of the same text. A half without the other becomes U+FFFD.
    """
    waiting: dict[_Place, WholeCharacters] = {}
    async with aclosing(events):
        async for event in events:
            if waiting or _HALF.search(event):
                repairs = defaultdict(WholeCharacters, waiting)
                event = _repaired(event, repairs)
                waiting = {place: repair for place, repair in repairs.items() if repair.is_waiting}
            yield event


def whole_answer(content: bytes) -> bytes:
    """A JSON answer with whole characters; unchanged if it has no half of one and is valid UTF-8."""
    if _HALF_BYTES.search(content) is None:
        return content
    try:
        answer = json.loads(content)
    except ValueError:
        return content
    return json.dumps(without_surrogates(answer), ensure_ascii=False).encode()


def _repaired(event: str, repairs: defaultdict[_Place, WholeCharacters]) -> str:
    lines = event.split("\n")  # `splitlines` also splits at characters that JSON leaves unescaped
    text = "\n".join(line[5:].lstrip() for line in lines if line.startswith("data:"))
    try:
        data = json.loads(text)
    except ValueError:
        return event
    kept = [line for line in lines if line and not line.startswith("data:")]
    return "\n".join([*kept, f"data: {json.dumps(_whole(data, (), repairs), ensure_ascii=False)}"]) + "\n\n"


def _whole(value: Any, place: _Place, repairs: defaultdict[_Place, WholeCharacters]) -> Any:
    """The value with each of its texts repaired as the next piece of the text at the same place."""
    if isinstance(value, str):
        return repairs[place].take(value)
    if isinstance(value, list):
        return [_whole(one, (*place, number), repairs) for number, one in enumerate(value)]
    if isinstance(value, dict):
        # Choices, calls and blocks are numbered; those of one event need not begin at the first.
        here = (*place, value.get("index"))
        return {name: _whole(one, (*here, name), repairs) for name, one in value.items()}
    return value
