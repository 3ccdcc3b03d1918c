"""Reads the tools of a request of OpenAI's Responses as functions of chat completions, and finds them again."""

from __future__ import annotations

from collections.abc import Iterator

from conversations.errors import Invalid
from conversations.gateway.openai_responses import typed_tools
from conversations.gateway.protocol import Json

INPUT = "input"
"""The one argument of a custom tool, which takes any text."""
CUSTOM_SCHEMA: Json = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}
"""The parameters of a custom tool as a function."""
OFFERED, NAMESPACE = ("function", "custom"), "namespace"
"""The types of tools that a model is offered, and of a list of them."""
SEPARATOR = "__"
"""Between the name of a namespace and that of a tool in it."""


def with_grammar(description: str, grammar: object) -> str:
    """The description of a custom tool with the grammar of its input, if it has one."""
    if not isinstance(grammar, dict) or not grammar.get("definition"):
        return description
    return f"{description}\n\nThe input follows this grammar ({grammar.get('syntax')}):\n{grammar['definition']}"


def tools_of(tools: object) -> list[Json]:
    """The functions that the caller carries out. Tools that OpenAI would carry out are not offered to the model."""
    return [_function(tool, space) for tool, space in _offered(tools)]


def unoffered(body: Json) -> list[str]:
    """`tools.TYPE` for each type of tool that is not offered to the model."""
    tools = body.get("tools")
    given = {one["type"] for one in tools if not typed_tools.name_of(one)} if isinstance(tools, list) else set()
    return sorted(f"tools.{kind}" for kind in given - {*OFFERED, NAMESPACE})


def choice_of(choice: object) -> object:
    """The choice in the words of chat completions. Raises Invalid for a tool that is not offered."""
    if choice in ("auto", "none", "required"):
        return choice
    if (
        isinstance(choice, dict)
        and choice.get("type") in ("function", "custom")
        and isinstance(choice.get("name"), str)
    ):
        return {"type": "function", "function": {"name": choice["name"]}}
    if isinstance(choice, dict) and (name := typed_tools.name_of(choice)):
        return {"type": "function", "function": {"name": name}}
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        return "required" if choice.get("mode") == "required" else "auto"
    raise Invalid("tool_choice: must be auto, none, required, or name a function.", field="tool_choice")


def customs_of(body: Json) -> set[str]:
    """The names of a request's tools that take any text."""
    return {_name(tool, space) for tool, space in _own(body.get("tools")) if tool["type"] == "custom"}


def typed_of(body: Json) -> set[str]:
    """The names of a request's tools that OpenAI's models know by their type."""
    return {typed_tools.name_of(tool) for tool, _ in _offered(body.get("tools"))} - {""}


def spaces_of(body: Json) -> dict[str, tuple[str, str]]:
    """(namespace, name) of each tool in a namespace, by the name that the model knows."""
    return {_name(tool, space): (space, tool["name"]) for tool, space in _own(body.get("tools")) if space}


def _offered(tools: object) -> list[tuple[Json, str]]:
    """Each tool once, with its namespace: one that is known by its type gives way to a function of its name."""
    own = list(_own(tools))
    taken = {_name(tool, space) for tool, space in own if not typed_tools.name_of(tool)}
    chosen: list[tuple[Json, str]] = []
    for tool, space in own:
        if typed := typed_tools.name_of(tool):
            if typed in taken:
                continue
            taken.add(typed)
        chosen.append((tool, space))
    return chosen


def _own(tools: object) -> Iterator[tuple[Json, str]]:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise Invalid("tools: must be a list.", field="tools")
    for place, tool in enumerate(tools):
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            raise Invalid(f"tools[{place}]: must be an object with a type.", field=f"tools[{place}]")
        if tool["type"] == NAMESPACE:
            inside = tool.get("tools")
            if isinstance(inside, list) and any(isinstance(one, dict) and "tools" in one for one in inside):
                raise Invalid(f"tools[{place}].tools: a namespace holds no other.", field=f"tools[{place}].tools")
            yield from ((inner, str(tool.get("name") or "")) for inner, _ in _own(inside))
        elif tool["type"] in OFFERED:
            if not isinstance(tool.get("name"), str) or not tool["name"]:
                raise Invalid(f"tools[{place}].name: must be a text.", field=f"tools[{place}].name")
            yield tool, ""
        elif typed_tools.name_of(tool):
            yield tool, ""


def _name(tool: Json, space: str) -> str:
    if typed := typed_tools.name_of(tool):
        return typed
    return f"{space}{SEPARATOR}{tool['name']}" if space else str(tool["name"])


def _function(tool: Json, space: str) -> Json:
    if typed := typed_tools.name_of(tool):
        return {"type": "function", "function": typed_tools.function(typed)}
    about: Json = {"name": _name(tool, space), "description": str(tool.get("description") or "")}
    if tool["type"] == "custom":
        about["description"] = with_grammar(about["description"], tool.get("format"))
        return {"type": "function", "function": about | {"parameters": CUSTOM_SCHEMA}}
    about["parameters"] = tool.get("parameters") or {"type": "object", "properties": {}}
    if tool.get("strict"):
        about["strict"] = True
    return {"type": "function", "function": about}
