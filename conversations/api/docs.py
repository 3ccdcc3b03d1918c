"""/api/docs: the description of the API as a page to read, made from OpenAPI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from conversations.api.about import ABOUT, TAGS
from conversations.api.openapi import JSON, operations
from conversations.colours import coloured_if_it_can_be
from conversations.markdown import clean, parser
from conversations.preferences import appearance

CODE = re.compile(r"`([^`]+)`")
LIMITS = (("minLength", "maxLength", " characters"), ("minimum", "maximum", ""), ("minItems", "maxItems", " of them"))


@dataclass(frozen=True, slots=True)
class Field:
    """`kind` says what it may be, `shape` names the model that it is made of ("": none)."""

    name: str
    kind: str
    shape: str
    text: SafeString
    required: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    text: SafeString
    shape: str
    example: SafeString | None


@dataclass(frozen=True, slots=True)
class Route:
    id: str
    method: str
    path: str
    summary: str
    text: SafeString
    is_open: bool
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answers: tuple[Answer, ...]
    curl: SafeString


@csrf_exempt
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """For anybody, as OpenAPI is."""
    from conversations.api import api  # it is made of the routes, and this is none of them

    root = f"{request.scheme}://{request.get_host()}"
    return HttpResponse(_page(root, appearance(request).theme, api))


@lru_cache(maxsize=8)
def _page(root: str, theme: str, api: Any) -> str:
    schema = api.get_openapi_schema()
    shapes = schema["components"]["schemas"]
    routes = [
        (operation["tags"][0], _route(root, path, method, operation, shapes))
        for path, method, operation in operations(schema)
    ]
    sections = [
        (tag["name"], tag["description"], [route for name, route in routes if name == tag["name"]]) for tag in TAGS
    ]
    told = [(name, _said(shape), list(_fields(shape))) for name, shape in sorted(shapes.items())]
    about = mark_safe(clean(parser.render(ABOUT)))
    context = {"root": root, "theme": theme, "about": about, "sections": sections, "shapes": told}
    return render_to_string("api_docs.html", context)


def _route(root: str, path: str, method: str, operation: dict[str, Any], shapes: dict[str, Any]) -> Route:
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get(JSON, {})
    shape = shapes.get(_name(body.get("schema", {})), {})
    return Route(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=_said(operation),
        is_open=not operation.get("security"),
        parameters=tuple(
            _field(one["name"], one["schema"] | {"description": one["description"]}, required=one["required"])
            for one in operation["parameters"]
        ),
        body=tuple(_fields(shape)),
        answers=tuple(_answers(operation)),
        curl=_curl(root + path, method.upper(), body.get("example")),
    )


def _answers(operation: dict[str, Any]) -> Iterator[Answer]:
    for status, answer in operation["responses"].items():
        if status == "default":
            continue
        media: dict[str, Any] = next(iter(answer.get("content", {}).values()), {})
        is_own = status < "400"
        example = _json(media["example"]) if is_own and JSON in answer.get("content", {}) else None
        yield Answer(status, _inline(answer["description"]), _name(media.get("schema", {})) if is_own else "", example)


def _fields(shape: dict[str, Any]) -> Iterator[Field]:
    for name, part in shape.get("properties", {}).items():
        yield _field(name, part, required=name in shape.get("required", ()))


def _field(name: str, part: dict[str, Any], *, required: bool) -> Field:
    return Field(name, _kind(part), _shape_of(part), _said(part), required)


def _kind(part: dict[str, Any]) -> str:
    """In words: "text, to 200 characters, or null"."""
    if "anyOf" in part or "oneOf" in part:
        return " or ".join(_kind(one) for one in part.get("anyOf", part.get("oneOf", ()))) + _limits(part)
    if "$ref" in part:
        return _name(part)
    if "enum" in part:
        return " | ".join(f'"{one}"' for one in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    if part.get("type") == "array":
        return f"list of {_kind(part['items'])}" + _limits(part)
    kind = part.get("format") or {"string": "text", None: "anything"}.get(part.get("type"), part.get("type"))
    return f"{kind}{_limits(part)}"


def _limits(part: dict[str, Any]) -> str:
    """ ", 1 to 200 characters"; nothing where nothing is limited."""
    for low, high, unit in LIMITS:
        least, most = part.get(low), part.get(high)
        if most is not None:
            return f", {f'{least:,} to' if least is not None else 'at most'} {most:,}{unit}"
        if least:
            return f", at least {least:,}{unit}"
    return ""


def _shape_of(part: Any) -> str:
    """The name of the model that a field is, or is a list of, or may be."""
    if isinstance(part, dict):
        inner = (part.get("items"), *part.get("anyOf", ()), *part.get("oneOf", ()))
        return _name(part) or next(filter(None, map(_shape_of, inner)), "")
    return ""


def _name(part: dict[str, Any]) -> str:
    return str(part.get("$ref", "")).rpartition("/")[2]


def _said(part: dict[str, Any]) -> SafeString:
    return _inline(part.get("description", ""))


def _inline(text: str) -> SafeString:
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))


def _json(example: Any) -> SafeString:
    return mark_safe(coloured_if_it_can_be(json.dumps(example, indent=2, ensure_ascii=False), "json"))


def _curl(url: str, method: str, example: Any) -> SafeString:
    lines = [f"curl {url}", '-H "Authorization: Bearer $KEY"']
    if example is not None:
        sent = json.dumps(example, indent=2, ensure_ascii=False).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{sent}'"]
    if method != ("GET" if example is None else "POST"):
        lines.insert(1, f"-X {method}")
    return mark_safe(coloured_if_it_can_be(" \\\n  ".join(lines), "bash"))
