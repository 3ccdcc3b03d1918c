"""What is answered where something fails before any view, or in none that knows better."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

from chatsite.middleware import API


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the API's own shape at its addresses, and a page elsewhere; so is `server_error`."""
    if not request.path.startswith(API):
        return defaults.bad_request(request, exception)
    wrong_host = isinstance(exception, DisallowedHost)
    message = "Host: this site has another name." if wrong_host else "This request cannot be read."
    return _refusal(400, "invalid", message, **({"field": "Host"} if wrong_host else {}))


def server_error(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith(API):
        return defaults.server_error(request)
    return _refusal(500, "internal", "Something went wrong on this site; its log says what.")


def _refusal(status: int, code: str, message: str, **detail: str) -> JsonResponse:
    return JsonResponse({"error": {"code": code, "message": message, "detail": detail}}, status=status)
