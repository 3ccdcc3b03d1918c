"""The calls of tools that a reply asks for, put together from the pieces in which they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from conversations.llm.text_repair import Storable
from conversations.llm.tools import ToolRequest

MAX_CALLS = 16
"""Of one reply; those beyond are not kept."""
MAX_NAME_CHARS = 200
"""Characters of an id and of a name, as a row can hold them."""


@dataclass(slots=True)
class _Call:
    place: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_whole(self.arguments)

    def is_again(self, id: str, name: str, arguments: str) -> bool:
        """Whether it has come already, as a whole."""
        if not (id and name and arguments) or (id, name) != (self.id, self.name):
            return False
        return len(arguments) == self.size and arguments == self.arguments

    def is_before(self, id: str, name: str, arguments: str) -> bool:
        """Whether another one begins: with a name, and an id of its own or after whole arguments.

        A further id alone says nothing: some servers make one up for each piece.
        """
        if not name or not self.name:
            return False
        return bool(id and self.id and id != self.id) or (bool(arguments) and self.is_whole)

    def take(self, id: str, name: str, arguments: str) -> None:
        self.id = self.id or id
        if name != self.name:
            self.name += name
        if arguments:
            self.pieces.append(arguments)
            self.size += len(arguments)


class Calls:
    """Those of one reply in the making. `characters` are how many came, of whatever part of a call."""

    def __init__(self) -> None:
        self.characters = 0
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._last: _Call | None = None

    def take(self, place: int | None, *, id: str = "", name: str = "", arguments: str = "") -> None:
        """A piece of a call: what it adds to the name and the arguments.

        `place` is that among the calls, None where the server does not say. Several may claim the same one: servers
        number all of them 0, give them one id or none, repeat the name with each piece, or send it after arguments.
        """
        self.characters += 1 + len(id) + len(name) + len(arguments)
        call = self._found(place, id)
        if call and call.is_again(id, name, arguments):
            return
        if call is None or call.is_before(id, name, arguments):
            call = self._begin(place, id)
        call.take(id, name, arguments)

    def whole(self, names: Mapping[str, str]) -> tuple[ToolRequest, ...]:
        """What is asked for: text that can be stored, each with an id of its own; `names` are those of tools by what
        the model was told. What has no name is no call."""
        told = ((call, _storable(call.name)) for call in self._calls)
        kept = [(call, names.get(name, name)[:MAX_NAME_CHARS]) for call, name in told if name.strip()]
        ids = _ids([_storable(call.id)[:MAX_NAME_CHARS] for call, _ in kept])
        return tuple(
            ToolRequest(id, name, _storable(call.arguments).strip() or "{}")
            for id, (call, name) in zip(ids, kept, strict=True)
        )  # fmt: skip

    def _found(self, place: int | None, id: str) -> _Call | None:
        """The call that a piece belongs to, unless it begins another."""
        if id:
            for call in reversed(self._calls):
                if call.id == id and place in (call.place, None):
                    return call
        return self._last if place is None else self._at.get(place)

    def _begin(self, place: int | None, id: str) -> _Call:
        call = self._last = _Call(place, id)
        if place is not None:
            self._at[place] = call
        if len(self._calls) < MAX_CALLS:
            self._calls.append(call)
        return call


def text_of(arguments: Any) -> str:
    """Arguments as text: most servers send them so, some send the object."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def object_of(arguments: str) -> dict[str, Any]:
    """The arguments as the JSON object that they should be; any other text as one argument."""
    found = _read(arguments)
    return found if isinstance(found, dict) else {"arguments": arguments} if arguments.strip() else {}


def _ids(given: list[str]) -> Iterator[str]:
    """The same, those that are missing or were given before made up."""
    seen: set[str] = set()
    for id in given:
        while not id or id in seen:
            id = f"call_{uuid4().hex}"
        seen.add(id)
        yield id


def is_whole(arguments: str) -> bool:
    """Whether they are a JSON object."""
    return isinstance(_read(arguments), dict)


def _read(arguments: str) -> Any:
    try:
        # NaN and Infinity, which Python reads and JSON does not know, stay words.
        return json.loads(arguments, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _storable(text: str) -> str:
    return Storable().take(text)
