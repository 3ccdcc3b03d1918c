"""The handler of the gateway's calls, without the middleware for browsers: they have no session, form or page."""

from __future__ import annotations

from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response

GATEWAY = "/v1/"


class GatewayHandler(ASGIHandler):
    """Answers requests below GATEWAY on the loop, with a URL configuration of their own."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._middleware_chain = convert_exception_to_response(super()._get_response_async)  # type: ignore[misc]

    def resolve_request(self, request: Any) -> Any:
        request.urlconf = "conversations.gateway.urls"
        return super().resolve_request(request)
