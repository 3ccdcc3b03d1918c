"""Bodies: declared as JSON, UTF-8, an object, and strict."""

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
    """A request may do without a body where every field has a default, but not call nothing JSON."""
    if request.content_type == "application/json" and not request.body:
        raise Invalid("body: must be a JSON object.", field="body")
