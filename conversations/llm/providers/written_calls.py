"""Reads tool calls that a model writes into its text, where its server does not recognise them.

Servers find a call by its opening tag; a model that leaves the tag out, or a server without a parser for its model,
sends the call as text, and the agent stops. The last words of a reply are calls if they are nothing else, in one of
these forms, outside a block of code, and name tools of the request:

    <tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>     Hermes, Qwen
    <function=read><parameter=path>a.txt</parameter></function>                 Qwen3-Coder, with or without <tool_call>
    <tool_call>read<arg_key>path</arg_key><arg_value>a.txt</arg_value></tool_call>    GLM
    <invoke name="read"><parameter name="path">a.txt</parameter></invoke>       MiniMax, in <minimax:tool_call>
    [TOOL_CALLS][{"name": "read", "arguments": {"path": "a.txt"}}]              Mistral

Sources: https://github.com/ollama/ollama/issues/16686, https://github.com/vllm-project/vllm/issues/22975,
https://github.com/MiniMax-AI/MiniMax-M2.5/issues/10
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

OPENINGS = ("<tool_call>", "<function=", "<minimax:tool_call>", "<invoke name=", "[TOOL_CALLS]")
FENCE = "```"
MAX_HELD_CHARS = 200_000
"""The most characters that are held back; a longer text is no call."""
MAX_CALLS = 100
"""The most calls of a text; a text with more is none of calls."""
CHECKED_CHARS = 300
"""The characters by which a beginning of a call must be recognisable."""

_LONGEST = max(map(len, OPENINGS)) - 1
_OPENING = re.compile("|".join(map(re.escape, OPENINGS)))
_GAP = re.compile(r"(?:\s|</?tool_call>|</?minimax:tool_call>|</function>|</invoke>)*")
_FUNCTION = re.compile(r"<function=([\w.-]{1,200})>\s*")
_INVOKE = re.compile(r'<invoke name="([\w.-]{1,200})">\s*')
_NAMED = re.compile(r"([\w.-]{1,200})\s*(?=<arg_key>|</tool_call>)")
_PARAMETER = re.compile(r'<parameter(?:=| name=")([^<>"\n]{1,200})"?>')
_KEY = re.compile(r"<arg_key>([^<\n]{1,200})</arg_key>\s*<arg_value>")
_END = re.compile(r"<parameter[= ]|</function>|</invoke>|</tool_call>|</minimax:tool_call>")
_MARK = re.compile(r"\[TOOL_CALLS\]\s*")
_BLANKS = re.compile(r"\s*")

Schemas = Mapping[str, Mapping[str, Any]]
"""The JSON schemas of the parameters of a request's tools, by the names that the model was given."""


class WrittenCall(NamedTuple):
    """A call in a text; `arguments` is a JSON object."""

    name: str
    arguments: str


Found = tuple[list[WrittenCall] | None, int]
"""(the calls at a place, or None, and the place after them)."""
Read = Callable[[str, int, Schemas], Found]
"""Reads the calls at a place of a text."""


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
        calls = list(_calls_in(self._held, self._tools)) if self._opens and is_whole else []
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
        return _form_at(self._held, _after(_GAP, self._held, 0)) is not None

    def _released(self) -> str:
        text, self._held = self._held, ""
        self._tools, self._opens = {}, False
        return text


def _unfinished(text: str) -> int:
    """The length of the end of a text that may become an opening, or a fence."""
    last = text[-CHECKED_CHARS:]
    if last.endswith("`"):
        return len(last) - len(last.rstrip("`"))
    ends = text[-_LONGEST:]
    return next((len(ends) - at for at in range(len(ends)) if any(one.startswith(ends[at:]) for one in OPENINGS)), 0)


def _calls_in(text: str, tools: Schemas) -> Iterator[WrittenCall | None]:
    """The calls of a text; None where it is something else, after which nothing more is read."""
    at, number = _after(_GAP, text, 0), 0
    while at < len(text):
        read = _form_at(text, at)
        found, at = read(text, at, tools) if read and number < MAX_CALLS else (None, at)
        if not found:
            yield None
            return
        yield from (call if call.name in tools else None for call in found)
        at, number = _after(_GAP, text, at), number + 1


def _form_at(text: str, at: int) -> Read | None:
    """The reader of the form in which calls begin at a place; None if none does."""
    return next((read for starts, read in _FORMS if starts.match(text, at)), None)


def _json(text: str, at: int, tools: Schemas) -> Found:
    try:
        value, end = json.JSONDecoder(parse_constant=str).raw_decode(text, _after(_MARK, text, at))
    except (ValueError, RecursionError):
        return None, at
    given = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in given):
        return None, at
    return [_call(one["name"], one.get("arguments", one.get("parameters"))) for one in given], end


def _tagged(head: re.Pattern[str], parameter: re.Pattern[str], close: str) -> Read:
    """The reader of calls whose parameters stand in tags. A model may leave out closing tags."""

    def read(text: str, at: int, tools: Schemas) -> Found:
        found = head.match(text, at)
        if not found or found[1] not in tools:
            return None, at
        name, at, arguments = found[1], found.end(), dict[str, Any]()
        is_closed = text.find(close, at) >= 0
        while given := parameter.match(text, at):
            end = text.find(close, given.end()) if is_closed else -1
            at = end + len(close)
            if end < 0:
                is_closed, last = False, _END.search(text, given.end())
                end = at = last.start() if last else len(text)
            key = given[1].strip()
            arguments[key] = _value(text[given.end() : end], name, key, tools)
            at = _after(_BLANKS, text, at)
        return [_call(name, arguments)], at

    return read


_FORMS: tuple[tuple[re.Pattern[str], Read], ...] = (
    (re.compile(r"\{|\[TOOL_CALLS\]"), _json),
    (_FUNCTION, _tagged(_FUNCTION, _PARAMETER, "</parameter>")),
    (_INVOKE, _tagged(_INVOKE, _PARAMETER, "</parameter>")),
    (_NAMED, _tagged(_NAMED, _KEY, "</arg_value>")),
)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The place after a match at a place; the place itself without one."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _call(name: str, arguments: object) -> WrittenCall:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return WrittenCall(name, given)


def _value(text: str, name: str, key: str, tools: Schemas) -> Any:
    """A parameter's value: the text without the line breaks around it, or its JSON if the schema wants no string."""
    text = text.removeprefix("\n").removesuffix("\n")
    properties = tools[name].get("properties")
    schema = properties.get(key) if isinstance(properties, Mapping) else None
    kind = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return text
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
