"""The calls of tools that a reply asks for, put together from the pieces in which they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from conversations.agents.tools.spec import Asked
from conversations.llm.storable import Storable

MOST_CALLS = 16
"""Of one reply; those beyond are not kept."""
LONGEST = 200
"""Characters of an id and of a name, as a row can hold them."""


@dataclass(slots=True)
class _Call:
    place: int
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_again(self, id: str, name: str, arguments: str) -> bool:
        """Whether it has come already, as a whole."""
        return bool(id and arguments) and (id, name, arguments) == (self.id, self.name, self.arguments)

    def is_before(self, id: str, name: str, arguments: str) -> bool:
        """Whether another one begins. Some servers number all their calls 0, give them one id or none, or give a
        further id with each piece: so a name counts, with an id of its own or after whole arguments."""
        other = bool(id and self.id and id != self.id)
        return bool(name) and (other or (bool(arguments) and _is_whole(self.arguments)))

    def take(self, id: str, name: str, arguments: str) -> None:
        self.id = self.id or id
        if name != self.name:
            self.name += name
        self.pieces.append(arguments)


class Calls:
    """Those of one reply in the making. `characters` are how many came, of whatever part of a call."""

    def __init__(self) -> None:
        self.characters = 0
        self._calls: list[_Call] = []
        self._latest: dict[int, _Call] = {}

    def take(self, place: int, *, id: str = "", name: str = "", arguments: str = "") -> None:
        """A piece of the call at a place: what it adds to the name and the arguments."""
        self.characters += len(id) + len(name) + len(arguments)
        call = self._latest.get(place)
        if call and call.is_again(id, name, arguments):
            return
        if call is None or call.is_before(id, name, arguments):
            call = self._latest[place] = _Call(place, id)
            if len(self._calls) < MOST_CALLS:
                self._calls.append(call)
        call.take(id, name, arguments)

    def whole(self) -> tuple[Asked, ...]:
        """What is asked for: text that can be stored, each with an id of its own. One without a name is none."""
        named = ((call, _storable(call.name)[:LONGEST]) for call in self._calls)
        kept = [(call, name) for call, name in named if name]
        ids = _ids([_storable(call.id)[:LONGEST] for call, _ in kept])
        return tuple(
            Asked(id, name, _storable(call.arguments) or "{}")
            for id, (call, name) in zip(ids, kept, strict=True)
        )  # fmt: skip


def text_of(arguments: Any) -> str:
    """Arguments as text: most servers send them so, some send the object."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def _ids(given: list[str]) -> Iterator[str]:
    """The same, those that are missing or were given before made up."""
    seen: set[str] = set()
    for id in given:
        while not id or id in seen:
            id = f"call_{uuid4().hex}"
        seen.add(id)
        yield id


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _storable(text: str) -> str:
    return Storable().take(text)
