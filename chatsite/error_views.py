"""The responses to errors outside of views: bad requests and exceptions that no view handled."""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseServerError, JsonResponse
from django.template.loader import get_template
from django.views import defaults

from chatsite.middleware import API
from conversations.errors import Refused, as_json, headers_of
from conversations.preferences import appearance
from conversations.runtime.database import refusal_of


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The response to a bad request: JSON for the API's paths, a page for others."""
    if not request.path.startswith(API):
        return defaults.bad_request(request, exception)
    wrong_host = isinstance(exception, DisallowedHost)
    message = "Host: this site has another name." if wrong_host else "This request cannot be read."
    return _refusal(400, "invalid", message, **({"field": "Host"} if wrong_host else {}))


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an unhandled exception: JSON for the API's paths, a page for others.

    A database that is busy or cannot be written answers 503.
    """
    if refusal := refusal_of(sys.exc_info()[1]):
        return _database_refusal(request, refusal)
    if not request.path.startswith(API):
        # Render without context processors, as one of them may have failed.
        page = get_template("500.html").render({"theme": appearance(request).theme})
        return HttpResponseServerError(page)
    return _refusal(500, "internal", "Something went wrong on this site; its log says what.")


def _database_refusal(request: HttpRequest, refusal: Refused) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse(as_json(refusal), status=refusal.status, headers=headers_of(refusal))
    about = {"message": refusal.message, "theme": appearance(request).theme}
    page = get_template("error.html").render(about)
    return HttpResponse(page, status=refusal.status, headers=headers_of(refusal))


def _refusal(status: int, code: str, message: str, **detail: Any) -> JsonResponse:
    return JsonResponse(as_json(Refused(message, code=code, **detail)), status=status)
