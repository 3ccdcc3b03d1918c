"""Every answer of the API that a test gets is compared with what OpenAPI says of it: nothing missing, nothing more."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema_rs
from django.http.response import HttpResponseBase
from django.test import AsyncClient, Client

JSON = "application/json"
PARAMETERS = {"number": r"\d+", "username": r"[^/]+"}
"""Parameters of paths that are no ids."""
OTHERWISE = {405, 408, 500, 503}
"""Statuses that any operation may answer with; all others are named."""


class ConformingClient(Client):
    def request(self, **request: Any) -> Any:
        return _checked(super().request(**request))


class ConformingAsyncClient(AsyncClient):
    async def request(self, **request: Any) -> Any:
        return _checked(await super().request(**request))


def _checked(response: Any) -> Any:
    asked = response.request
    method, path = (
        asked.get(wsgi) or asked[asgi] for wsgi, asgi in (("REQUEST_METHOD", "method"), ("PATH_INFO", "path"))
    )
    check(method.lower(), path, response)
    return response


def check(method: str, path: str, response: HttpResponseBase) -> None:
    """Raises AssertionError where the schema does not have this answer."""
    operation = _operation("get" if method == "head" else method, path)
    status, kind = response.status_code, response.get("Content-Type", "").partition(";")[0]
    if operation is None or status in OTHERWISE:
        assert status in {404, *OTHERWISE}, (method, path, status)
        answer = {"content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}
    else:
        assert str(status) in operation["responses"], (method, path, status)
        answer = operation["responses"][str(status)]
    content = answer.get("content", {})
    assert kind in content if content else not kind, (method, path, status, kind)
    assert all(name in response for name in answer.get("headers", {})), (method, path, status)
    if kind == JSON and method != "head":
        told = json.loads(response.content)  # type: ignore[attr-defined]
        _validator(json.dumps(content[JSON]["schema"])).validate(told)


@cache
def schema() -> dict[str, Any]:
    """As it is told, and with nothing allowed beside what is named: a field that is not described is a fault."""
    from conversations.api import api

    strict = deepcopy(dict(api.get_openapi_schema()))
    for shape in strict["components"]["schemas"].values():
        if "properties" in shape:
            shape.setdefault("additionalProperties", False)
    return strict


@cache
def _operation(method: str, path: str) -> dict[str, Any] | None:
    """Of a fixed address rather than of one with an id in its place."""
    for template in sorted(schema()["paths"], key=lambda template: template.count("{")):
        pattern = re.sub(r"{(\w+)}", lambda found: PARAMETERS.get(found[1], r"[0-9a-f-]{36}"), template)
        if re.fullmatch(pattern, path):
            found: dict[str, Any] | None = schema()["paths"][template].get(method)
            return found
    return None


@cache
def _validator(shape: str) -> Any:
    whole = json.loads(shape) | {"components": schema()["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
