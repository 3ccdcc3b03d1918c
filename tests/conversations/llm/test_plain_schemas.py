"""Schemas of tools for servers that accept a part of JSON schema only."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from conversations.llm.providers import corrections, plain_schemas
from conversations.llm.providers.plain_schemas import MAX_PARTS, plain

pytestmark = pytest.mark.once

REFUSALS = [
    "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters': "
    "Cannot find field.",
    "Invalid schema for function 'read': In context=('properties', 'paths'), array schema missing items.",
    "Invalid schema for function 'read': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'"
    "/'not' at the top level.",
    "tools.106.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    "tools.0.function.parameters: unsupported keyword propertyNames",
]
RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"paths": {"type": "array"}, "limit": {"type": ["integer", "null"], "exclusiveMinimum": 0}},
    "additionalProperties": False,
}


def tool(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "read", "parameters": schema}}


@pytest.mark.parametrize("complaint", REFUSALS)
def test_a_refused_schema_is_recognised_once(complaint: str) -> None:
    body = {"messages": [], "tools": [tool(RICH)]}
    assert corrections.named_in(complaint, body, status=400) == "plain schemas"
    assert corrections.named_in(complaint, plain_schemas.with_plain_schemas(body), status=400) is None
    assert corrections.named_in(complaint, {"messages": []}, status=400) is None


@pytest.mark.parametrize(
    "complaint",
    [
        "Invalid schema for response_format 'answer': 'additionalProperties' is required to be false.",
        "This model does not support tools.",
        "messages[2].tool_calls[0]: invalid arguments",
        "max_tokens must be at most 8192",
    ],
)
def test_other_refusals_leave_schemas_alone(complaint: str) -> None:
    assert corrections.named_in(complaint, {"messages": [], "tools": [tool(RICH)]}, status=400) is None


@pytest.mark.parametrize(
    ("rich", "expected"),
    [
        ({"type": ["integer", "null"], "exclusiveMinimum": 0, "default": 5}, {"type": "integer"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array", "prefixItems": [{"type": "number"}]}, {"type": "array", "items": {"type": "number"}}),
        ({"const": "all"}, {"type": "string", "enum": ["all"]}),
        ({"enum": [1, 2], "type": "integer"}, {"type": "integer"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A name."},
         {"description": "A name.", "type": "string"}),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, {"anyOf": [{"type": "string"}, {"type": "number"}]}),
        ({"$ref": "#/$defs/place"}, {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}),
        ({"type": "object", "patternProperties": {"^a": {}}, "required": ["a"]}, {"type": "object", "properties": {}}),
        (True, {"type": "string"}),
        ({"$ref": "other.json#/x"}, {"type": "string"}),
    ],
)  # fmt: skip
def test_each_keyword_has_a_plain_form(rich: Any, expected: dict[str, Any]) -> None:
    place = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "title": "Place"}
    made = plain({"type": "object", "properties": {"one": rich}, "$defs": {"place": place}})
    assert made == {"type": "object", "properties": {"one": expected}}


def test_alternatives_at_the_top_become_one_object() -> None:
    one = {"properties": {"id": {"type": "string"}}, "required": ["id"]}
    other = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
    made = plain({"oneOf": [one, other]})
    assert made == {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}
    made = plain({"allOf": [one, other], "description": "Both."})
    assert made["required"] == ["id", "name"] and made["description"] == "Both."


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema = {"type": "object", "properties": {"$schema": {"type": "string"}, "anyOf": {"type": "string"}}}
    assert plain(schema) == schema


def test_a_plain_schema_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "kinds": {"type": "array", "items": {"type": "string", "enum": ["a"]}},
        },
        "required": ["path"],
    }
    assert plain(schema) == schema


def test_schemas_within_themselves_end() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/$defs/tree"}}}
    made = plain(tree | {"$defs": {"tree": tree}})
    assert "$ref" not in json.dumps(made)
    doubled: dict[str, Any] = {
        f"d{at}": {"type": "object", "properties": {name: {"$ref": f"#/$defs/d{at + 1}"} for name in "ab"}}
        for at in range(40)
    }
    began = time.perf_counter()
    made = plain({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": doubled})
    assert time.perf_counter() - began < 2
    assert json.dumps(made).count('"type"') <= 3 * MAX_PARTS


def test_a_deep_schema_ends() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"a": deep}}
    assert 50 < json.dumps(plain(deep)).count('"a"') < 100


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"type": ["number", "null"]},
        {"enum": ["a", "b"]},
        {},
        True,
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda ones: {"anyOf": ones}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda ones: {"allOf": ones}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda ones: {
                "type": "object",
                "properties": ones,
                "required": list(ones)[:1],
                "additionalProperties": False,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        ),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("xyz"), SCHEMAS, max_size=3))
def test_plain_schemas_are_valid_and_have_known_keywords_only(properties: dict[str, Any]) -> None:
    made = plain({"type": "object", "properties": properties})
    Draft202012Validator.check_schema(made)
    assert plain(made) == made

    def known(schema: dict[str, Any]) -> None:
        assert schema.keys() <= {*plain_schemas.KEPT, "type", "enum", "properties", "required", "items", "anyOf"}
        assert "type" in schema or "anyOf" in schema
        for part in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
            known(part)

    known(made)
