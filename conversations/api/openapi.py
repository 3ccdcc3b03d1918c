"""Completes ninja's description of the API with refusals, examples and plain names.

Every operation gets the refusals of its authentication and its parameters; a route names only its own:
`openapi_extra=refuses(409)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conversations.api.schemas.errors import Error
from conversations.api.schemas.fields import REF, SHAPE
from conversations.errors import Refused, as_json
from conversations.runtime.event_types import EventType

JSON = "application/json"
ERROR = {"$ref": REF.format(model=Error.__name__)}
RETRY_AFTER = {
    "description": "Seconds after which to ask again.",
    "required": True,
    "schema": {"type": "integer", "minimum": 1},
}
REFUSALS: dict[int, tuple[str, str, str]] = {
    400: ("invalid", "A field, or the body as a whole, is not what it may be.", "limit: must be at most 200."),
    401: (
        "unauthenticated",
        "There is no key and no session, or it is not valid.",
        "Send `Authorization: Bearer <key>` with a valid key, or sign in.",
    ),
    402: (
        "insufficient_quota",
        "The budget of the month is used up.",
        "Your budget of this month, 5,000,000 tokens, is used up. The next one begins on Dec. 1, 2026 (UTC). Who runs "
        "this site can raise it.",
    ),
    403: ("forbidden", "A session without its CSRF token.", "CSRF check Failed"),
    404: (
        "not_found",
        "There is no such object, or it is another person's.",
        "There is no such conversation, or it is another person's.",
    ),
    409: ("reply_running", "Right in itself, but not now.", "A reply is still being written: stop it, or wait for it."),
    413: (
        "context_too_large",
        "The body is larger than any may be, or the message fits no request.",
        "Too long for gpt-4 by about 2,140 tokens: shorten it, or choose a model with a window of more than 8,192 "
        "tokens.",
    ),
    415: ("unsupported_media_type", "The body is not declared as JSON.", "Send the body as application/json."),
    429: ("rate_limited", "Asked too often.", "At most 1,200 requests a minute. Try again in 12 s."),
}
"""The code of each refusal, the case that it is for, and an example of its message."""
DETAILS: dict[int, dict[str, Any]] = {400: {"field": "limit"}, 429: {"retry_after": 12}}
OTHERWISE = (
    "Any other refusal: 405 for a wrong method, 408 where the body is too slow, 500 for a fault of the site's own, "
    "503 with Retry-After where it is too busy."
)
STREAM = (
    'event: message.delta\ndata: {"id": "0199b3c2-8c41-7d02-9a57-0d3c5be8f1a4", "text": "8443.", "at": 0}\n\n'
    ": heartbeat\n\n"
)
EVENT_TYPES = f"One of {', '.join(f'`{type}`' for type in EventType)}; there may be more."
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "How far one is: for `Last-Event-ID`."},
        "event": {"type": "string", "description": EVENT_TYPES},
        "data": {"type": "string", "description": "JSON, as docs/events.md says of each."},
    },
}
EVENTS: dict[str, Any] = {"text/event-stream": {"schema": EVENT, "example": STREAM}}
"""The answer if the caller asks for a reply as a stream: the schema is that of each event."""


PATHS = {
    "conversation_id": "Id of the conversation.",
    "message_id": "Id of one of its messages.",
    "attachment_id": "Id of one of its files.",
    "entry_id": "Id of one of its ledger's entries.",
    "project_id": "Id of the project.",
    "file_id": "Id of the file.",
    "username": "The person's name.",
    "run_id": "Id of one of its runs.",
    "task_id": "Id of the compaction, from the answer to the request for it.",
    "number": "Number of the summary, from `checkpoints` of the context.",
}


def refuses(*statuses: int, also: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `openapi_extra` of a route with these further answers; `also` is content of its 200, by media type."""
    answers: dict[int, Any] = {status: {} for status in statuses}
    return {"responses": answers | ({200: {"content": also}} if also else {})}


def complete(schema: dict[str, Any]) -> None:
    """Complete ninja's description in place."""
    components = schema["components"]["schemas"]
    for node in [schema["paths"], *components.values(), {SHAPE: json.dumps(Error.model_json_schema(ref_template=REF))}]:
        _add(components, _gathered(node))
    untitled(schema["paths"])
    untitled(components)
    for path, method, operation in operations(schema):
        _parameters(operation)
        _answers(operation, components)
        _refusals(operation, path, method)
        operation["responses"] = dict(sorted((str(key), value) for key, value in operation["responses"].items()))


def _gathered(node: Any) -> dict[str, Any]:
    """Replace the models that are described within `node` by references; returns their descriptions by name."""
    found: dict[str, Any] = {}
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for part in parts:
        _add(found, _gathered(part))
    if isinstance(node, dict) and (description := node.pop(SHAPE, None)):
        shape = json.loads(description)
        for shapes in (_gathered(shape), shape.pop("$defs", {}), {shape["title"]: shape}):
            _add(found, shapes)
        node["$ref"] = REF.format(model=shape["title"])
    return found


def _add(shapes: dict[str, Any], others: dict[str, Any]) -> None:
    for name, shape in others.items():
        if shapes.setdefault(name, shape) != shape:
            raise ValueError(f"two models of the API are called {name}")


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The path, method and description of each operation."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def untitled(node: Any) -> None:
    """Remove the titles that pydantic makes of fields' names."""
    if isinstance(node, list):
        for part in node:
            untitled(part)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("title"), str):
        del node["title"]
    for key, part in node.items():
        if key not in ("example", "examples", "default"):
            untitled(part)


def example(schema: dict[str, Any], components: dict[str, Any]) -> Any:
    """An example of a schema, made of the examples of its fields."""
    if "examples" in schema:
        return schema["examples"][0]
    for key in ("example", "const", "default"):
        if key in schema:
            return schema[key]
    if "$ref" in schema:
        return example(components[schema["$ref"].rpartition("/")[2]], components)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return example(schema[key][0], components)
    if "properties" in schema:
        asked = schema.get("required", ())
        shown = {name: part for name, part in schema["properties"].items() if name in asked or "examples" in part}
        return {name: example(part, components) for name, part in shown.items()}
    if schema.get("type") == "array":
        return [example(schema["items"], components)]
    return schema.get("enum", [{"object": {}, "string": "", "null": None}.get(schema.get("type", ""))])[0]


def _parameters(operation: dict[str, Any]) -> None:
    """Correct an operation's parameters: one that is left out is not null, and its description stands beside its
    schema.
    """
    for parameter in operation["parameters"]:
        schema = parameter["schema"]
        kinds = [kind for kind in schema.pop("anyOf", []) if kind != {"type": "null"}]
        parameter["schema"] = (kinds[0] if kinds else {}) | {
            key: value for key, value in schema.items() if key != "description" and (key, value) != ("default", None)
        }
        if parameter["in"] == "path":
            parameter["description"] = PATHS[parameter["name"]]


def _answers(operation: dict[str, Any], components: dict[str, Any]) -> None:
    """Add an example to the body and to each answer that is JSON."""
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    for media in (part.get("content", {}).get(JSON) for part in bodies):
        if media and "example" not in media:
            media["example"] = example(media["schema"], components)


def _refusals(operation: dict[str, Any], path: str, method: str) -> None:
    statuses = {401, 429} | {int(status) for status in operation["responses"] if int(status) >= 400}
    asks = any(parameter["in"] == "query" for parameter in operation["parameters"])
    statuses |= {400} if asks or method == "post" else set()
    statuses |= {403} if method != "get" else set()
    statuses |= {404} if "{" in path else set()
    statuses |= {400, 413, 415} if "requestBody" in operation else set()
    operation["responses"] |= {status: _refusal(status) for status in statuses}
    operation["responses"]["default"] = {"description": OTHERWISE, "content": {JSON: {"schema": ERROR}}}


def _refusal(status: int) -> dict[str, Any]:
    code, when, message = REFUSALS[status]
    example = as_json(Refused(message, code=code, **DETAILS.get(status, {})))
    answer: dict[str, Any] = {
        "description": when,
        "content": {JSON: {"schema": ERROR, "example": example}},
    }
    if status == 429:
        answer["headers"] = {"Retry-After": RETRY_AFTER}
    if status == 401:
        answer["headers"] = {"WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}}}
    return answer
