"""Puts messages and tools into plainer forms for servers that know fewer fields and roles than OpenAI.

Each function gives a request in one form; a request that has the form already stays equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from compression.core.lazy_pattern import lazy_pattern
from conversations.llm.providers.cache_breakpoints import BREAKPOINT
from conversations.llm.providers.chat_templates import CONTINUATION
from conversations.llm.providers.refused_images import without_images
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.thinking.thoughts import DETAILS, EXTRA, TEXT_FIELDS

Json = dict[str, Any]

_UNKNOWN = (
    r"(?:extra inputs?|extra_forbidden|not permitted|not support|unsupported|unknown|unrecogni[sz]ed|unexpected"
    r"|is not allowed|should not exist|could not be mapped|could not find member|additional.?propert)"
)
_INDEX = r"""['"\]]{0,2}[\[.,:/ {"]{1,4}\d"""
"""The place of a message or a tool: `messages.2`, `messages[2]`, `/messages/2`, `"messages": {"2"`."""
_OF_ANSWERS = r"\b(?:annotations|refusal|function_call|citations|caller)\b"
"""Fields of messages that only answers have."""
FLAGS = re.IGNORECASE | re.DOTALL
STRICT_REFUSED = lazy_pattern(
    rf"mixed values for .?strict|\bstrict\b.{{0,80}}{_UNKNOWN}|{_UNKNOWN}.{{0,40}}\bstrict\b", FLAGS
)
MARKS_REFUSED = lazy_pattern(
    rf"(?:cache_control(?![\w.]*\.(?:scope|ttl))|prompt cach(?:e|ing)).{{0,80}}(?:{_UNKNOWN}|not enabled)"
    rf"|(?:{_UNKNOWN}|not allow).{{0,40}}(?:cache_control|prompt cach(?:e|ing))",
    FLAGS,
)
TTL_REFUSED = lazy_pattern(r"\bttl\b.{0,4}['\"]1h|cache_control.{0,40}\b(?:scope|ttl)\b", FLAGS)
FIELDS_REFUSED = lazy_pattern(
    rf"\bmessages?{_INDEX}.{{0,160}}(?:{_UNKNOWN}|\bnull\b)|(?:{_UNKNOWN}|too short).{{0,80}}\bmessages?{_INDEX}"
    rf"|{_UNKNOWN}.{{0,40}}{_OF_ANSWERS}|{_OF_ANSWERS}.{{0,40}}{_UNKNOWN}|citations.{{0,40}}valid list",
    FLAGS,
)
TOOLS_REFUSED = lazy_pattern(
    rf"\btools?{_INDEX}(?!.{{0,80}}(?:schema|parameters)).{{0,120}}{_UNKNOWN}|{_UNKNOWN}.{{0,80}}\btools?{_INDEX}"
    rf"|{_UNKNOWN}.{{0,20}}\b(?:defer_loading|input_examples|eager_input_streaming|allowed_callers)\b",
    FLAGS,
)
SPEAKER_REFUSED = lazy_pattern(rf"messages?\b.{{0,40}}\bname\b.{{0,80}}{_UNKNOWN}|{_UNKNOWN}.{{0,40}}'name'", FLAGS)
DEVELOPER_REFUSED = lazy_pattern(
    rf"developer.{{0,80}}(?:not one of|invalid|{_UNKNOWN})|(?:invalid|{_UNKNOWN}).{{0,60}}developer"
    r"|developer.{0,20}is not a valid choice|(?:name|key(?:error)?):? ['\"`]developer"
    r"|\brole\b(?!:).{0,60}(?:must be|invalid)|converted to.{0,80}\brole\b"
    r"|valid role|['\"`]system['\"`],? ?['\"`]user['\"`]",
    FLAGS,
)
PARTS_REFUSED = lazy_pattern(
    r"content.{0,80}(?:valid string|(?:be|expected) (?:of type |an? )?['\"`]?string|str type expected"
    r"|got an? (?:array|list)|not a string|TYPE_STRING)"
    r"|(?:expected|(?:invalid|mismatch) type).{0,60}\bstr(?:ing)?\b.{0,40}(?:array|list|sequence)"
    r"|(?:valid string|lang\.String.{0,3} from array|System\.String|of type ['\"`]string|cannot start list)"
    r".{0,200}content"
    r"|invalid type: sequence, expected a string|unmarshal array.{0,80}content of type string"
    r"|parsing value: \[.{0,40}content|untagged enum \w*content|content type: \[\]"
    r"|not .{0,2}list.{0,3} to str|'list' object has no attribute",
    FLAGS,
)
SYSTEM_REFUSED = lazy_pattern(
    r"\bsystem\b.{0,60}(?:valid string|expected a string)|(?:array|list|sequence).{0,80}\bsystem\b.{0,12}string", FLAGS
)
NULL_REFUSED = lazy_pattern(
    r"(?<!reasoning_)content.{0,80}"
    r"(?:(?:got|is|be|was|type:?|value|received|input['\"]?:|input_value=)['\":]* ?['\"]?(?:null|none(?:type)?)\b"
    r"|(?:null|none) is|is required)|\b(?:null|none)\b.{0,160}(?<!reasoning_)content"
    r"|'NoneType' object has no attribute|of type 'NoneType' is not|not .{0,2}NoneType.{0,3} to str",
    FLAGS,
)
NAMES_REFUSED = lazy_pattern(
    r"(?:function|tools?)\b.{0,60}(?<!unknown )name\b.{0,120}(?:too long|pattern|length|characters|invalid|a-z)"
    r"|invalid (?:tool|function) name|does not match.{0,80}tools?\b.{0,40}name",
    FLAGS,
)
PREFILL_REFUSED = lazy_pattern(r"prefill|must end with a user message|last message must (?:be|have)", FLAGS)


def without_strict(body: Mapping[str, Any]) -> Json:
    """The request whose functions have no `strict`."""
    return _with_functions(body, lambda function: _without(function, "strict"))


def with_fitting_names(body: Mapping[str, Any]) -> Json:
    """The request with names of tools that OpenAI accepts; `offered_name` finds the tool by them again."""
    sent = _with_functions(body, _with_fitting_name)
    if isinstance(choice := sent.get("tool_choice"), dict) and isinstance(choice.get("function"), dict):
        sent["tool_choice"] = choice | {"function": _with_fitting_name(choice["function"])}
    return _with_messages(sent, _with_fitting_calls)


def without_marks(body: Mapping[str, Any]) -> Json:
    """The request without the marks of a provider's cache."""
    return _with_marks(body, lambda part: _without(part, "cache_control"))


def with_plain_marks(body: Mapping[str, Any]) -> Json:
    """The request whose marks of a provider's cache have a type alone."""
    return _with_marks(body, lambda part: part | {"cache_control": {"type": "ephemeral"}})


def with_known_fields(body: Mapping[str, Any]) -> Json:
    """The request without fields of messages and calls that only answers have, as clients send them back."""
    return _with_messages(body, _with_known_fields)


def with_plain_tools(body: Mapping[str, Any]) -> Json:
    """The request whose tools have a name, a description and a schema, and no field of newer protocols."""
    tools = body.get("tools")
    return {**body, "tools": [_plain_tool(tool) for tool in tools]} if isinstance(tools, list) else dict(body)


def without_speakers(body: Mapping[str, Any]) -> Json:
    """The request without names of speakers; that of a person stands before the text."""
    return _with_messages(body, _without_speaker)


def without_developer(body: Mapping[str, Any]) -> Json:
    """The request with the role system in place of developer."""
    return _with_messages(body, lambda one: one | {"role": "system"} if one.get("role") == "developer" else one)


def without_parts(body: Mapping[str, Any]) -> Json:
    """The request whose contents are one text each; a line stands for each image."""
    return _with_messages(without_images(body), _with_text)


def with_system_text(body: Mapping[str, Any]) -> Json:
    """The request whose instructions are one text, in Anthropic's field for them."""
    system = body.get("system")
    if not isinstance(system, list) or not all(_is_text(part) for part in system):
        return dict(body)
    return {**body, "system": "\n\n".join(part["text"] for part in system)}


def without_nulls(body: Mapping[str, Any]) -> Json:
    """The request with an empty text in place of a content that is null or missing."""
    return _with_messages(body, lambda one: one | {"content": ""} if one.get("content") is None else one)


def with_last_word(body: Mapping[str, Any]) -> Json:
    """The request that ends with a message of the user: not every model continues a reply."""
    messages = body["messages"]
    if not messages or messages[-1].get("role") != "assistant":
        return dict(body)
    return {**body, "messages": [*messages, {"role": "user", "content": CONTINUATION}]}


def _with_messages(body: Mapping[str, Any], change: Callable[[Json], Json]) -> Json:
    return {**body, "messages": [change(message) for message in body["messages"]]}


def _with_functions(body: Mapping[str, Any], change: Callable[[Json], Json]) -> Json:
    tools = body.get("tools")
    if not isinstance(tools, list):
        return dict(body)
    return {**body, "tools": [_with_function(tool, change) for tool in tools]}


def _with_function(tool: Any, change: Callable[[Json], Json]) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    return tool | {"function": change(function)} if isinstance(function, dict) else tool


def _with_fitting_name(function: Json) -> Json:
    name = function.get("name")
    return function | {"name": fitting_name(name)} if isinstance(name, str) else function


def _with_fitting_calls(message: Json) -> Json:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    return message | {"tool_calls": [_with_function(call, _with_fitting_name) for call in calls]}


def _without(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        return value
    return {key: one for key, one in value.items() if key != name}


def _with_marks(body: Mapping[str, Any], change: Callable[[Json], Json]) -> Json:
    """The request with each part changed that has a mark of a provider's cache."""

    def changed(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        part = change(part) if "cache_control" in part else part
        return part | {"content": parts(part["content"])} if isinstance(part.get("content"), list) else part

    def parts(values: list[Any]) -> list[Any]:
        return [changed(value) for value in values]

    lists = {name: value for name in ("system", "tools", "messages") if isinstance(value := body.get(name), list)}
    return {**body, **{name: parts(value) for name, value in lists.items()}}


_MESSAGE = {"role", "content", "name", "tool_calls", "tool_call_id", "function_call", "cache_control"}
_CALL = {"id", "type", "function", "custom", EXTRA}
_BLOCKS = {
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "text": {"type", "text", "cache_control", BREAKPOINT},
}
"""The fields of a request's blocks, for the kinds that have more of them in answers."""
_TOOL = {"type", "name", "description", "input_schema", "function", "custom", "cache_control"}


def _with_known_fields(message: Json) -> Json:
    known = {name: value for name, value in message.items() if name in _MESSAGE or name in (*TEXT_FIELDS, DETAILS)}
    for name in ("tool_calls", "function_call"):
        if name in known and not known[name]:
            del known[name]
    if isinstance(calls := known.get("tool_calls"), list):
        known["tool_calls"] = [_only(call, _CALL) for call in calls]
    if isinstance(content := known.get("content"), list):
        known["content"] = [_known_block(part) for part in content]
    return known


def _known_block(part: Any) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    return _only(part, _BLOCKS[kind]) if kind in _BLOCKS else part


def _plain_tool(tool: Any) -> Any:
    if not isinstance(tool, dict) or tool.get("type", "custom") not in ("custom", "function"):
        return tool  # of the provider's own
    if "input_schema" in tool:
        return _only(tool, _TOOL - {"type"})  # Anthropic's newer name of what has no other type
    return _with_function(_only(tool, _TOOL), lambda one: _only(one, {"name", "description", "parameters", "strict"}))


def _only(value: Any, names: Collection[str]) -> Any:
    return {name: one for name, one in value.items() if name in names} if isinstance(value, dict) else value


def _without_speaker(message: Json) -> Json:
    name, content = message.get("name"), message.get("content")
    if not name or message.get("role") == "function":
        return message
    bare: Json = _without(message, "name")
    if message.get("role") != "user":
        return bare
    if isinstance(content, list):
        return bare | {"content": [{"type": "text", "text": f"{name}:"}, *content]}
    return bare | {"content": f"{name}: {content or ''}"}


def _with_text(message: Json) -> Json:
    """A message, or the result of a tool, whose content is a text if it has no other parts; so are results in it."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    if not all(_is_text(part) for part in content):
        parts = [_with_text(part) if isinstance(part, dict) else part for part in content]
        return message if parts == content else message | {"content": parts}
    return message | {"content": "\n\n".join(part["text"] for part in content)}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
