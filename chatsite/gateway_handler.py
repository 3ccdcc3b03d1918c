"""Calls of the gateway: no session, no form, no page, so none of the middleware that is there for browsers."""

from __future__ import annotations

from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response

GATEWAY = "/v1/"


class Programs(ASGIHandler):
    """Answers what is below GATEWAY on the loop, by its own addresses."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._middleware_chain = convert_exception_to_response(super()._get_response_async)  # type: ignore[misc]

    def resolve_request(self, request: Any) -> Any:
        request.urlconf = "conversations.gateway.urls"
        return super().resolve_request(request)
