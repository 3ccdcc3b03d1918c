"""Parses request bodies: declared as JSON, UTF-8, one object, no unknown fields."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from conversations.errors import Invalid
from conversations.validation import json_text, parse_json


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        return parse_json(json_text(request))


def require_body_if_declared(request: HttpRequest) -> None:
    """Raise Invalid for a request that is declared as JSON and has no body.

    A request that is not declared as JSON may do without one, if every field has a default.
    """
    if request.content_type == "application/json" and not request.body:
        raise Invalid("body: must be a JSON object.", field="body")
