"""Rewrites the schemas of tools for servers that accept a part of JSON schema only.

One tool that a server does not accept makes it refuse the whole request: Gemini for `$schema`, `additionalProperties`
or a list of types, OpenAI and Anthropic for `oneOf` at the top, OpenAI for an array without `items`. The rewritten
schemas have the keywords that all of them accept. They permit more than the originals, but for parts without a type,
which become texts.

Sources: https://ai.google.dev/api/caching#Schema and https://platform.openai.com/docs/guides/function-calling
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from compression.core.lazy_pattern import lazy_pattern

Json = dict[str, Any]

KEPT = ("description", "minimum", "maximum", "minItems", "maxItems")
"""The keywords that are kept as they are."""
MAX_PARTS = 5_000
"""The most parts of a schema; further ones, and those within themselves, become an object of any kind."""
MAX_DEPTH = 60
"""The most levels of a schema; deeper ones become an object of any kind."""

REFUSED = lazy_pattern(
    r"^(?!.*(?:response_format|match schema: property))"
    r".*(?:invalid schema|schema must|(?:array|object) schema|input_schema|function_?declarations"
    r"|\$schema|json.?schema|tools?['\"]?[\[.]\d+.{0,80}(?:schema|parameters)|parameters.{0,40}schema"
    r"|schema.{0,40}(?:unsupported|not support)|(?:unrecogni[sz]ed|parse|convert).{0,40}(?:schema|grammar)"
    r"|grammar error|parameters\.properties)",
    re.IGNORECASE | re.DOTALL,
)
"""Recognises errors about the schema of a tool."""


def with_plain_schemas(body: Mapping[str, Any]) -> Json:
    """The request with plain schemas of its tools, in the form of chat completions or of Anthropic's Messages."""
    tools = body.get("tools")
    return {**body, "tools": [_tool(tool) for tool in tools]} if isinstance(tools, list) else dict(body)


def plain(schema: Mapping[str, Any]) -> Json:
    """The plain schema of an object of parameters."""
    made = _Rewriting(schema).part(schema)
    for choice in made.pop("anyOf", ()):
        for name, value in choice.get("properties", {}).items():
            made.setdefault("properties", {}).setdefault(name, value)
    return {"properties": {}} | made | {"type": "object"}


def _tool(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    function = tool.get("function")
    if isinstance(function, dict) and isinstance(function.get("parameters"), dict):
        return tool | {"function": function | {"parameters": plain(function["parameters"])}}
    return tool | {"input_schema": plain(tool["input_schema"])} if isinstance(tool.get("input_schema"), dict) else tool


class _Rewriting:
    """The rewriting of one schema; `_left` are the parts that it may still have."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MAX_PARTS

    def part(self, schema: object, within: tuple[str, ...] = ()) -> Json:
        """A part of the schema; `within` has the reference of each level above it, "" for a level without one."""
        self._left -= 1
        if not isinstance(schema, Mapping):
            return {"type": "string"}
        reference = str(schema.get("$ref") or "")
        if self._left < 0 or len(within) >= MAX_DEPTH or (reference and reference in within):
            return {"type": "object", "properties": {}}
        within = (*within, reference)
        if reference:
            schema = {**self._target(reference), **schema}
        made: Json = {name: schema[name] for name in KEPT if name in schema}
        for branch in _list(schema.get("allOf")):
            made = _merged(made, self.part(branch, within))
        choices = [self.part(one, within) for one in _choices(schema)]
        if len(choices) == 1:
            made = _merged(made, choices[0])
        elif choices:
            made["anyOf"] = choices
        return self._typed(made, schema, within)

    def _typed(self, made: Json, schema: Mapping[str, Any], within: tuple[str, ...]) -> Json:
        """The part with its own type, its properties and items, and the required ones among them."""
        values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
        if values and all(isinstance(value, str) for value in values):
            made["enum"] = values
        if isinstance(properties := schema.get("properties"), Mapping):
            own = {name: self.part(value, within) for name, value in properties.items()}
            made["properties"] = made.get("properties", {}) | own
        kind = _kind_of(schema) or made.get("type") or _guessed(made, schema)
        if kind:
            made["type"] = kind
        if kind == "array" and ("items" in schema or "items" not in made):
            items = _list(schema.get("prefixItems")) or schema.get("items")
            made["items"] = self.part(items[0] if isinstance(items, list) and items else items, within)
        if kind == "object":
            made.setdefault("properties", {})
        elif kind:
            made.pop("properties", None)
        if kind and kind != "array":
            made.pop("items", None)
        required = [*made.pop("required", ()), *_list(schema.get("required"))]
        known = [name for name in dict.fromkeys(map(str, required)) if name in made.get("properties", {})]
        return made | ({"required": known} if known else {})

    def _target(self, reference: str) -> Mapping[str, Any]:
        """The part that a reference names; an empty one for references to other documents."""
        found: Any = self._root if reference.startswith("#") else None
        for name in filter(None, reference.lstrip("#").split("/")):
            found = found.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return {name: value for name, value in found.items() if name != "$ref"} if isinstance(found, Mapping) else {}


def _choices(schema: Mapping[str, Any]) -> list[object]:
    """The alternatives of a schema, without null."""
    given = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    return [one for one in given if not (isinstance(one, Mapping) and one.get("type") == "null")]


def _kind_of(schema: Mapping[str, Any]) -> str:
    """The type of a schema, the first of several but null; "" without one."""
    kinds = [kind for kind in (_list(schema.get("type")) or [schema.get("type")]) if isinstance(kind, str)]
    return next((kind for kind in kinds if kind != "null"), "")


def _guessed(made: Json, schema: Mapping[str, Any]) -> str:
    if "anyOf" in made:
        return ""
    return "object" if "properties" in made else "array" if "items" in schema else "string"


def _merged(first: Json, second: Json) -> Json:
    """Both schemas at once; where they differ, the first holds."""
    both = second | first
    for name in ("properties", "required"):
        if name in first and name in second:
            both[name] = second[name] | first[name] if name == "properties" else [*first[name], *second[name]]
    return both


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
