"""What OpenAPI says of the API; that the answers are so is checked wherever a test asks (`conforming`)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from tests.conversations.api_client import refused
from tests.conversations.conforming import JSON

pytestmark = pytest.mark.once

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def schema(django_db_setup: None) -> Any:
    from conversations.api import api

    return json.loads(json.dumps(api.get_openapi_schema()))


def operations(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_told_to_anybody_and_made_once(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        told = Client().get("/api/openapi.json")
    assert told.status_code == 200
    assert told.json()["openapi"] == "3.1.0"
    assert set(told.json()["components"]["securitySchemes"]) == {"KeyAuth", "SessionAuth"}


def test_every_operation_says_what_it_does_what_it_takes_and_how_it_refuses(schema: Any) -> None:
    tags = {tag["name"] for tag in schema["tags"]}
    for name, operation in operations(schema):
        assert operation["summary"] and operation["description"], name
        assert set(operation["tags"]) <= tags, name
        assert {"401", "429", "default"} <= set(operation["responses"]), name
        assert ("404" in operation["responses"]) == ("{" in name), name
        assert all("description" in parameter for parameter in operation["parameters"]), name
        assert ("requestBody" in operation) <= ({"400", "413", "415"} <= set(operation["responses"])), name


def test_every_field_is_described(schema: Any) -> None:
    silent = [
        f"{name}.{field}"
        for name, shape in schema["components"]["schemas"].items()
        for field, part in shape.get("properties", {}).items()
        if not part.get("description") and "$ref" not in part
    ]
    assert silent == []


def test_every_answer_of_its_own_is_a_named_shape_whose_example_is_right(schema: Any) -> None:
    for name, operation in operations(schema):
        bodies = [(status, answer) for status, answer in operation["responses"].items() if status != "default"]
        bodies.append(("body", operation.get("requestBody", {})))
        for status, body in bodies:
            for media in body.get("content", {}).values():
                if media["schema"].get("format") == "binary" or media is body["content"].get("text/event-stream"):
                    continue
                assert "example" in media, (name, status)
                whole = media["schema"] | {"components": schema["components"]}
                jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(media["example"])
                assert "properties" not in media["schema"], (name, status)


def test_identifiers_dates_and_choices_are_typed(schema: Any) -> None:
    shapes = schema["components"]["schemas"]
    listed = shapes["ListedConversation"]["properties"]
    assert listed["id"]["format"] == "uuid"
    assert listed["created_at"]["format"] == "date-time"
    assert listed["mode"]["enum"] == ["assistant", "developer", "planning", "debugger"]
    assert shapes["NewConversation"]["additionalProperties"] is False


def test_operation_ids_are_short_and_told_apart(schema: Any) -> None:
    names = [operation["operationId"] for _, operation in operations(schema)]
    assert len(set(names)) == len(names)
    assert "messages_send" in names


def test_a_wrong_method_on_every_route_is_405_in_our_shape(schema: Any, db: None) -> None:
    for path, methods in schema["paths"].items():
        address = path.replace("{number}", "1").replace("{", "").replace("}", "")
        for part in (
            "conversation_id",
            "message_id",
            "attachment_id",
            "run_id",
            "task_id",
            "entry_id",
            "project_id",
            "file_id",
        ):
            address = address.replace(part, "00000000-0000-7000-8000-000000000000")
        for method in METHODS - set(methods):
            response = Client().generic(method.upper(), address, content_type=JSON)
            refused(response, 405, "method_not_allowed")
            assert set(response["Allow"].lower().split(", ")) >= set(methods)
