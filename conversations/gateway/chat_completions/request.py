"""Reads requests of chat completions, also those in which a client mixes the forms of other protocols.

Cursor sends requests to a model's own address in three forms: those of chat completions, those of OpenAI's Responses
(`input`, flat tools, custom tools), and messages with the blocks of Anthropic's Messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.errors import Invalid
from conversations.gateway.anthropic import blocks
from conversations.gateway.messages import as_json
from conversations.gateway.openai_responses import items
from conversations.gateway.openai_responses import request as responses
from conversations.gateway.openai_responses.tools import CUSTOM_SCHEMA, INPUT, with_grammar
from conversations.gateway.options import NEEDED
from conversations.gateway.protocol import Json
from conversations.llm.known_models import is_openai
from conversations.models import ModelProfile

TOOL_BLOCKS = ("tool_use", "tool_result")
TEXT_PARTS = ("input_text", "output_text")
"""The types of texts in the items of Responses."""
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
"""The choices of a tool by the words of Anthropic's Messages."""


def in_own_form(body: Json, owner_id: int) -> Json:
    """The request with its messages and tools in the form of chat completions; a valid one is unchanged."""
    if "messages" not in body and "input" in body:
        body = _of_responses(body)
    found = {name: read(body[name]) for name, read in READERS.items() if body.get(name) is not None}
    return body | found if any(value is not body[name] for name, value in found.items()) else body


def read(body: Json, profile: ModelProfile) -> Json:
    """The body for a model's server. Only OpenAI itself takes custom tools; other servers get functions."""
    at_openai = profile.provider == ModelProfile.Provider.OPENAI and is_openai(profile.base_url)
    if at_openai or not (names := custom_tools(body)):
        return body
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and isinstance(custom := choice.get("custom"), dict):
        body = body | {"tool_choice": {"type": "function", "function": {"name": custom.get("name")}}}
    messages = body.get("messages")
    return body | {
        "tools": [_as_function(tool) if _custom_name(tool) in names else tool for tool in body["tools"]],
        "messages": [_with_functions(one) for one in messages] if isinstance(messages, list) else messages,
    }


def custom_tools(body: Json) -> frozenset[str]:
    """The names of a request's custom tools, which take any text."""
    tools = body.get("tools")
    return frozenset(filter(None, map(_custom_name, tools))) if isinstance(tools, list) else frozenset()


def _of_responses(body: Json) -> Json:
    """A request in the form of Responses as one of chat completions. Raises Invalid, naming the field."""
    kept = {name: value for name, value in body.items() if name not in responses.KNOWN or name in KEPT}
    if (most := body.get("max_output_tokens")) is not None:
        kept["max_completion_tokens"] = most
    messages = [*responses.instructions_of(body.get("instructions")), *items.messages_of(body["input"])]
    text = responses.format_of(body.get("text"), at_openai=False)
    return kept | responses.effort_of(body.get("reasoning")) | text | {"messages": messages}


KEPT = (*responses.SAME, *responses.AT_OPENAI, *NEEDED, "tools", "tool_choice", "stream_options")
"""The fields of Responses that chat completions have too, and those that no answer can leave out."""


def _messages(messages: Any) -> Any:
    if not isinstance(messages, list):
        return messages
    read = [one for number, message in enumerate(messages) for one in _message(number, message)]
    is_same = len(read) == len(messages) and all(a is b for a, b in zip(read, messages, strict=True))
    return messages if is_same else read


def _message(number: int, message: Any) -> Iterator[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        yield message
        return
    parts = [_part(part) for part in content]
    used = [part for part in parts if isinstance(part, dict) and part.get("type") in TOOL_BLOCKS]
    if not used:
        is_same = all(a is b for a, b in zip(parts, content, strict=True))
        yield message if is_same else message | {"content": parts}
        return
    rest = [part for part in parts if not (isinstance(part, dict) and part.get("type") in TOOL_BLOCKS)]
    try:
        made = blocks.messages_of([{"role": message.get("role"), "content": used}])
    except Invalid as fault:
        place = f"messages[{number}].content"
        raise Invalid(f"{place}: {str(fault).partition(': ')[2]}", field=place) from None
    if message.get("role") == "assistant":
        given = message.get("tool_calls")
        calls = [*(given if isinstance(given, list) else ()), *(made[0].get("tool_calls") or ())]
        yield message | {"content": rest or None, "tool_calls": calls}
        return
    yield from made
    if rest:
        yield message | {"content": rest}


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, dict) and part.get("type") in TEXT_PARTS:
        return part | {"type": "text"}
    source = part.get("source") if isinstance(part, dict) and part.get("type") == "image" else None
    if isinstance(source, dict):
        data = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": source.get("url") or data}}
    return part


def _tools(tools: Any) -> Any:
    if not isinstance(tools, list):
        return tools
    read = [_tool(tool) for tool in tools]
    return tools if all(a is b for a, b in zip(read, tools, strict=True)) else read


def _tool(tool: Any) -> Any:
    """A tool in the form of chat completions; those of Responses and of Messages have no inner object."""
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return tool
    kind = tool.get("type", "function")
    if kind == "custom" and "input_schema" not in tool and "custom" not in tool:
        return {"type": "custom", "custom": {name: value for name, value in tool.items() if name != "type"}}
    if kind not in ("function", "custom") or "function" in tool or "custom" in tool:
        return tool
    schema = tool.get("parameters", tool.get("input_schema"))
    function = {name: tool[name] for name in ("name", "description", "strict") if tool.get(name) is not None}
    return {"type": "function", "function": function | ({"parameters": schema} if schema is not None else {})}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    kind, name = choice.get("type"), choice.get("name")
    if isinstance(kind, str) and kind in CHOICES and name is None:
        return CHOICES[kind]
    if kind == "custom" and isinstance(name, str):
        return {"type": "custom", "custom": {"name": name}}
    if kind in ("tool", "function") and isinstance(name, str):
        return {"type": "function", "function": {"name": name}}
    return choice


READERS = {"messages": _messages, "tools": _tools, "tool_choice": _choice}


def _custom_name(tool: Any) -> str:
    custom = tool.get("custom") if isinstance(tool, dict) and tool.get("type") == "custom" else None
    name = custom.get("name") if isinstance(custom, dict) else None
    return name if isinstance(name, str) else ""


def _as_function(tool: Json) -> Json:
    custom = tool["custom"]
    form = custom.get("format")
    grammar = form.get("grammar", form) if isinstance(form, dict) else None
    about = with_grammar(str(custom.get("description") or ""), grammar)
    return {
        "type": "function",
        "function": {"name": custom["name"], "description": about, "parameters": CUSTOM_SCHEMA},
    }


def _with_functions(message: Any) -> Any:
    """A message whose calls of custom tools are calls of functions."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list) or not any(isinstance(call, dict) and "custom" in call for call in calls):
        return message
    return message | {"tool_calls": [_call(call) for call in calls]}


def _call(call: Any) -> Any:
    custom = call.get("custom") if isinstance(call, dict) else None
    if not isinstance(custom, dict):
        return call
    function = {"name": custom.get("name"), "arguments": as_json({INPUT: custom.get("input")})}
    return {name: value for name, value in call.items() if name != "custom"} | {
        "type": "function",
        "function": function,
    }
