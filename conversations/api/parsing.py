"""Parses request bodies: declared as JSON, UTF-8, one object, no unknown fields."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from conversations.errors import MEDIA_TYPE, Invalid, UnsupportedMediaType
from conversations.validation import parse_json


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        require_json(request)
        try:
            text = request.body.decode()
        except UnicodeDecodeError as error:
            raise Invalid(f"body: not UTF-8 text, from byte {error.start:,} on.", field="body") from None
        return parse_json(text)


def require_json(request: HttpRequest) -> None:
    if request.content_type != "application/json":
        raise UnsupportedMediaType(MEDIA_TYPE)


def require_body_if_declared(request: HttpRequest) -> None:
    """Raise Invalid for a request that is declared as JSON and has no body.

    A request that is not declared as JSON may do without one, if every field has a default.
    """
    if request.content_type == "application/json" and not request.body:
        raise Invalid("body: must be a JSON object.", field="body")
