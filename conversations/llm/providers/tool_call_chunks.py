"""Assembles the tool calls of a reply from the pieces in which they arrive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from conversations.llm.providers.text_repair import Storable
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.thinking.thoughts import EXTRA
from conversations.llm.tools import ToolRequest

MAX_CALLS = 16
"""The most calls of one reply; further ones are dropped."""
MAX_NAME_CHARS = 200
"""The most characters of an id and of a name that a row can hold."""


@dataclass(slots=True)
class Call:
    """One call as it arrives; `pieces` are those of its arguments."""

    place: int | None
    id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_whole(self.arguments)

    def is_again(self, id: str, name: str, arguments: str) -> bool:
        """Whether this whole call has arrived before."""
        if not (id and name and arguments) or (id, name) != (self.id, self.name):
            return False
        return len(arguments) == self.size and arguments == self.arguments

    def is_before(self, id: str, name: str, arguments: str) -> bool:
        """Whether a piece begins another call: it has a name, and either another id or arguments after whole ones.

        Another id alone is no sign: some servers invent one for each piece.
        """
        if not name or not self.name:
            return False
        return bool(id and self.id and id != self.id) or (bool(arguments) and self.is_whole)

    def take(self, id: str, name: str, arguments: str) -> None:
        self.id = self.id or id
        if name != self.name:
            self.name += name
        if arguments.startswith("{") and len(arguments) >= self.size > 0 and arguments.startswith(self.arguments):
            arguments = arguments[self.size :]  # some servers repeat all so far; no JSON object goes on with itself
        if arguments:
            self.pieces.append(arguments)
            self.size += len(arguments)


class Calls:
    """The tool calls of one reply while it arrives. `characters` counts those of all parts of the calls."""

    def __init__(self, *, most: int = MAX_CALLS) -> None:
        self.characters = 0
        self._most = most
        self._calls: list[Call] = []
        self._at: dict[int, Call] = {}
        self._last: Call | None = None

    @property
    def so_far(self) -> list[Call]:
        """The calls in their order; the last ones may still grow."""
        return self._calls

    def take(
        self,
        place: int | None,
        id: str = "",
        name: str = "",
        arguments: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> Call:
        """The call to which a piece has added its part of the name and the arguments.

        `place` is the call's number, None if the server gives none. `extra` are further fields of the call. Servers
        differ: some number all calls 0, give all the same id or none, repeat the name with each piece, or send it after
        the arguments.
        """
        self.characters += 1 + len(id) + len(name) + len(arguments) + (len(str(extra)) if extra else 0)
        call = self._found(place, id)
        if call and call.is_again(id, name, arguments):
            return call
        if call is None or call.is_before(id, name, arguments):
            call = self._begin(place, id)
        call.take(id, name, arguments)
        call.extra |= extra or {}
        return call

    def whole(self, names: Mapping[str, str]) -> tuple[ToolRequest, ...]:
        """The complete calls, each with an id of its own and text that can be stored; calls without a name are dropped.

        `names` are the tools' own names by the names that the model was given.
        """
        named = ((call, _storable(call.name)) for call in self._calls)
        meant = ((call, offered_name(name, names)) for call, name in named if name.strip())
        kept = [(call, names.get(name, name)[:MAX_NAME_CHARS]) for call, name in meant]
        ids = _ids([_storable(call.id)[:MAX_NAME_CHARS] for call, _ in kept])
        return tuple(
            ToolRequest(id, name, _storable(call.arguments).strip() or "{}", call.extra)
            for id, (call, name) in zip(ids, kept, strict=True)
        )  # fmt: skip

    def _found(self, place: int | None, id: str) -> Call | None:
        """The call that a piece continues, unless it begins another; None if there is none."""
        if id:
            for call in reversed(self._calls):
                if call.id == id and place in (call.place, None):
                    return call
        return self._last if place is None else self._at.get(place)

    def _begin(self, place: int | None, id: str) -> Call:
        call = self._last = Call(place, id)
        if place is not None:
            self._at[place] = call
        if len(self._calls) < self._most:
            self._calls.append(call)
        return call


def extra_in(call: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a call, or of a piece of one, that go back with it to its provider."""
    extra = call.get(EXTRA)
    return {EXTRA: extra} if extra and isinstance(extra, dict) else {}


def text_of(arguments: Any) -> str:
    """A call's arguments as text; most servers send text, some send the object."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def object_of(arguments: str) -> dict[str, Any]:
    """A call's arguments parsed as a JSON object; any other text becomes a single argument."""
    parsed = _read(arguments)
    return parsed if isinstance(parsed, dict) else {"arguments": arguments} if arguments.strip() else {}


def _ids(given: list[str]) -> Iterator[str]:
    """The ids, with new ones in place of missing and repeated ids."""
    seen: set[str] = set()
    for id in given:
        while not id or id in seen:
            id = f"call_{uuid4().hex}"
        seen.add(id)
        yield id


def is_whole(arguments: str) -> bool:
    """Whether the arguments are a complete JSON object."""
    return isinstance(_read(arguments), dict)


def _read(arguments: str) -> Any:
    try:
        # Python parses NaN and Infinity, which are no JSON; keep them as strings.
        return json.loads(arguments, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _storable(text: str) -> str:
    return Storable().take(text)
