"""/api/docs: the API's reference page, generated from its OpenAPI schema."""

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

from conversations.api import api, shaped
from conversations.api.description import ABOUT, TAGS
from conversations.api.openapi import JSON, operations
from conversations.page.markup.highlighting import coloured_if_it_can_be
from conversations.page.markup.markdown import clean, parser
from conversations.preferences import appearance

CODE = re.compile(r"`([^`]+)`")
LIMITS = (("minLength", "maxLength", " characters"), ("minimum", "maximum", ""), ("minItems", "maxItems", " of them"))


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or property. `kind` describes its allowed values, `shape` names its schema ("": none)."""

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
@shaped
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The reference page. It needs no sign-in, like the OpenAPI schema itself."""
    root = f"{request.scheme}://{request.get_host()}"
    return HttpResponse(_rendered_page(root, appearance(request).theme))


@lru_cache(maxsize=8)
def _rendered_page(root: str, theme: str) -> str:
    schema = api.get_openapi_schema()
    shapes = schema["components"]["schemas"]
    routes = [
        (operation["tags"][0], _route(root, path, method, operation, shapes))
        for path, method, operation in operations(schema)
    ]
    sections = [
        (tag["name"], tag["description"], [route for name, route in routes if name == tag["name"]]) for tag in TAGS
    ]
    listed_shapes = [(name, _description(shape), list(_fields(shape))) for name, shape in sorted(shapes.items())]
    about = mark_safe(clean(parser.render(ABOUT)))
    context = {"root": root, "theme": theme, "about": about, "sections": sections, "shapes": listed_shapes}
    return render_to_string("api_docs.html", context)


def _route(root: str, path: str, method: str, operation: dict[str, Any], shapes: dict[str, Any]) -> Route:
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get(JSON, {})
    shape = shapes.get(_ref_name(body.get("schema", {})), {})
    return Route(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=_description(operation),
        is_open=not operation.get("security"),
        parameters=tuple(
            _field(item["name"], item["schema"] | {"description": item["description"]}, required=item["required"])
            for item in operation["parameters"]
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
        example = _highlighted_json(media["example"]) if is_own and JSON in answer.get("content", {}) else None
        yield Answer(
            status, _inline_html(answer["description"]), _ref_name(media.get("schema", {})) if is_own else "", example
        )


def _fields(shape: dict[str, Any]) -> Iterator[Field]:
    for name, part in shape.get("properties", {}).items():
        yield _field(name, part, required=name in shape.get("required", ()))


def _field(name: str, part: dict[str, Any], *, required: bool) -> Field:
    return Field(name, _kind_words(part), _shape_of(part), _description(part), required)


def _kind_words(part: dict[str, Any]) -> str:
    """The values that a schema allows, in words: "text, to 200 characters, or null"."""
    if "anyOf" in part or "oneOf" in part:
        return " or ".join(_kind_words(item) for item in part.get("anyOf", part.get("oneOf", ()))) + _limit_words(part)
    if "$ref" in part:
        return _ref_name(part)
    if "enum" in part:
        return " | ".join(f'"{item}"' for item in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    if part.get("type") == "array":
        return f"list of {_kind_words(part['items'])}" + _limit_words(part)
    kind = part.get("format") or {"string": "text", None: "anything"}.get(part.get("type"), part.get("type"))
    return f"{kind}{_limit_words(part)}"


def _limit_words(part: dict[str, Any]) -> str:
    """The schema's limits in words, such as ", 1 to 200 characters"; "" if it has none."""
    for low, high, unit in LIMITS:
        least, most = part.get(low), part.get(high)
        if most is not None:
            return f", {f'{least:,} to' if least is not None else 'at most'} {most:,}{unit}"
        if least:
            return f", at least {least:,}{unit}"
    return ""


def _shape_of(part: Any) -> str:
    """The name of the schema that a field refers to, directly, as a list or as an alternative; "" if there is none."""
    if isinstance(part, dict):
        inner = (part.get("items"), *part.get("anyOf", ()), *part.get("oneOf", ()))
        return _ref_name(part) or next(filter(None, map(_shape_of, inner)), "")
    return ""


def _ref_name(part: dict[str, Any]) -> str:
    return str(part.get("$ref", "")).rpartition("/")[2]


def _description(part: dict[str, Any]) -> SafeString:
    return _inline_html(part.get("description", ""))


def _inline_html(text: str) -> SafeString:
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))


def _highlighted_json(example: Any) -> SafeString:
    return mark_safe(coloured_if_it_can_be(json.dumps(example, indent=2, ensure_ascii=False), "json"))


def _curl(url: str, method: str, example: Any) -> SafeString:
    lines = [f"curl {url}", '-H "Authorization: Bearer $KEY"']
    if example is not None:
        sent = json.dumps(example, indent=2, ensure_ascii=False).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{sent}'"]
    if method != ("GET" if example is None else "POST"):
        lines.insert(1, f"-X {method}")
    return mark_safe(coloured_if_it_can_be(" \\\n  ".join(lines), "bash"))
