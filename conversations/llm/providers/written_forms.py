"""The forms in which models write tool calls into their text, and the readers of these forms.

    <tool_call>{"name": "read", "arguments": {"path": "a.txt"}}</tool_call>     Hermes, Qwen
    <function=read><parameter=path>a.txt</parameter></function>                 Qwen3-Coder, with or without <tool_call>
    <tool_call>read<arg_key>path</arg_key><arg_value>a.txt</arg_value></tool_call>    GLM
    <invoke name="read"><parameter name="path">a.txt</parameter></invoke>       MiniMax M2, in <minimax:tool_call>
    <invoke name="read"><path>a.txt</path></invoke>                             MiniMax M3, with ]<]minimax[>[ before <
    <｜DSML｜invoke name="read"><｜DSML｜parameter name="path" string="true">a.txt</｜DSML｜parameter></｜DSML｜invoke>
                                                                                DeepSeek, with other bars too
    <|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a.txt"}<|tool_call_end|>      Kimi
    [TOOL_CALLS][{"name": "read", "arguments": {"path": "a.txt"}}]              Mistral

Sources: https://github.com/ollama/ollama/issues/16686, https://github.com/vllm-project/vllm/issues/22975,
https://github.com/MiniMax-AI/MiniMax-M2.5/issues/10, https://github.com/ml-explore/mlx-lm/pull/1416,
https://github.com/sgl-project/sglang/issues/40236, https://github.com/vllm-project/vllm/pull/31207
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from compression.core.lazy_pattern import lazy_pattern

M3_MARK = "]<]minimax[>["
BARS = ("｜", "｜｜", "‖", "|")
"""The bars around DeepSeek's DSML: its own, and those that servers and models write for them."""
OPENINGS = (
    "<tool_call>", "<function=", "<minimax:tool_call>", "<invoke name=", "[TOOL_CALLS]", M3_MARK,
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", *(f"<{bar}DSML{bar}" for bar in BARS),
)  # fmt: skip
MAX_CALLS = 100
"""The most calls of a text; a text with more is none of calls."""
MAX_DEPTH = 20
"""The most levels of values in values."""

_M3 = re.escape(M3_MARK)
_DSML = r"[｜‖|]{1,2}DSML[｜‖|]{1,2}"
_NAME = r"(?P<name>[\w.-]{1,200})"
_GAP = lazy_pattern(
    rf"(?:\s|{_M3}|</?tool_call>|</?minimax:tool_call>|</function>|</invoke>|</?{_DSML}(?:tool_calls|function_calls)>"
    rf"|</{_DSML}invoke>|<\|tool_calls_section_(?:begin|end)\|>|<\|tool_call_end\|>)*"
)
_FUNCTION = lazy_pattern(rf"<function={_NAME}>\s*")
_INVOKE = lazy_pattern(rf'<invoke name="{_NAME}">\s*')
_M3_INVOKE = lazy_pattern(rf"(?<={_M3}){_INVOKE.pattern}")
_M3_TAG = lazy_pattern(rf"{_M3}<(?P<closes>/?)(?P<name>[\w.-]{{1,200}})>")
_DSML_INVOKE = lazy_pattern(rf'<(?P<mark>{_DSML})invoke name="{_NAME}"\s*/?>\s*')
_DSML_PARAMETER = lazy_pattern(
    rf'<{_DSML}parameter name="(?P<key>[^<>"\n]{{1,200}})"(?: string="(?P<string>true|false)")?>'
)
_NAMED = lazy_pattern(rf"{_NAME}\s*(?=<arg_key>|</tool_call>)")
_PARAMETER = lazy_pattern(r'<parameter(?:=| name=")(?P<key>[^<>"\n]{1,200})"?>')
_KEY = lazy_pattern(r"<arg_key>(?P<key>[^<\n]{1,200})</arg_key>\s*<arg_value>")
_END = lazy_pattern(
    rf"<parameter[= ]|</function>|</invoke>|</tool_call>|</minimax:tool_call>|<{_DSML}parameter |</{_DSML}"
)
_KIMI = lazy_pattern(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>[\w.-]{1,200})(?::\d{1,9})?\s*<\|tool_call_argument_begin\|>\s*"
)
_MARK = lazy_pattern(r"\[TOOL_CALLS\]\s*")
_BLANKS = lazy_pattern(r"\s*")

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


def calls_in(text: str, tools: Schemas) -> Iterator[WrittenCall | None]:
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


def begins_call(text: str) -> bool:
    """Whether a text begins as one of the forms does, after the tags around calls."""
    return _form_at(text, _after(_GAP, text, 0)) is not None


def _form_at(text: str, at: int) -> Read | None:
    """The reader of the form in which calls begin at a place; None if none does."""
    return next((read for starts, read in _FORMS if starts.match(text, at)), None)


def _json(text: str, at: int, tools: Schemas) -> Found:
    value, end = _decoded(text, _after(_MARK, text, at))
    given = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in given):
        return None, at
    return [_call(one["name"], one.get("arguments", one.get("parameters"))) for one in given], end


def _kimi(text: str, at: int, tools: Schemas) -> Found:
    found = _KIMI.match(text, at)
    arguments, end = _decoded(text, found.end()) if found else (None, at)
    return ([_call(found["name"], arguments)], end) if found and isinstance(arguments, dict) else (None, at)


def _tagged(head: re.Pattern[str], parameter: re.Pattern[str], close: str) -> Read:
    """The reader of calls whose parameters stand in tags, each until `close`. A model may leave out closing tags."""

    def read(text: str, at: int, tools: Schemas) -> Found:
        found = head.match(text, at)
        if not found or found["name"] not in tools:
            return None, at
        at, arguments = found.end(), dict[str, Any]()
        end_tag = close.format(**found.groupdict())
        is_closed = text.find(end_tag, at) >= 0
        while given := parameter.match(text, at):
            end = text.find(end_tag, given.end()) if is_closed else -1
            at = end + len(end_tag)
            if end < 0:
                is_closed, last = False, _END.search(text, given.end())
                end = at = last.start() if last else len(text)
            key, value = given["key"].strip(), text[given.end() : end]
            is_string = given.groupdict().get("string") == "true"
            arguments[key] = value if is_string else _typed(value, _property(tools[found["name"]], key))
            at = _after(_BLANKS, text, at)
        return [_call(found["name"], arguments)], at

    return read


@dataclass(slots=True)
class _Element:
    """A value of MiniMax M3: a text, or further elements."""

    name: str
    text: str = ""
    inner: list[_Element] = field(default_factory=list)

    def value(self, schema: object) -> Any:
        """The value by its schema: a list of the elements `item` or of equal names, an object of all others."""
        if not self.inner:
            return _typed(self.text, schema)
        if all(one.name == "item" for one in self.inner):
            items = schema.get("items") if isinstance(schema, Mapping) else None
            return [one.value(items) for one in self.inner]
        values: dict[str, list[Any]] = {}
        for one in self.inner:
            values.setdefault(one.name, []).append(one.value(_property(schema, one.name)))
        return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _m3(text: str, at: int, tools: Schemas) -> Found:
    """Read a call whose tags each follow a mark, so that no text of a value is a tag by chance."""
    found = _M3_INVOKE.match(text, at)
    if not found or found["name"] not in tools:
        return None, at
    at, path = found.end(), [_Element("invoke")]
    while len(path) <= MAX_DEPTH and (tag := _M3_TAG.search(text, at)):
        if not path[-1].inner:
            path[-1].text += text[at : tag.start()]
        at = tag.end()
        if not tag["closes"]:
            path.append(_Element(tag["name"]))
        elif path[-1].name != tag["name"]:
            return None, at
        elif len(path) == 1:
            return [_call(found["name"], path[0].value(tools[found["name"]]) if path[0].inner else {})], at
        else:
            path[-2].inner.append(path.pop())
    return None, at


_FORMS: tuple[tuple[re.Pattern[str], Read], ...] = (
    (lazy_pattern(r"\{|\[TOOL_CALLS\]"), _json),
    (_FUNCTION, _tagged(_FUNCTION, _PARAMETER, "</parameter>")),
    (_M3_INVOKE, _m3),
    (_INVOKE, _tagged(_INVOKE, _PARAMETER, "</parameter>")),
    (_DSML_INVOKE, _tagged(_DSML_INVOKE, _DSML_PARAMETER, "</{mark}parameter>")),
    (_KIMI, _kimi),
    (_NAMED, _tagged(_NAMED, _KEY, "</arg_value>")),
)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The place after a match at a place; the place itself without one."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """(the JSON value at a place, the place after it); (None, the place) without one."""
    try:
        return json.JSONDecoder(parse_constant=str).raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _call(name: str, arguments: object) -> WrittenCall:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return WrittenCall(name, given)


def _property(schema: object, key: str) -> object:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties.get(key) if isinstance(properties, Mapping) else None


def _typed(text: str, schema: object) -> Any:
    """A value: the text without the line breaks around it, or its JSON if the schema wants no string."""
    text = text.removeprefix("\n").removesuffix("\n")
    kind = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return text
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
