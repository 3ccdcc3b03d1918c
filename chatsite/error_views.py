"""The responses to errors outside of views: bad requests, refused and unknown pages, exceptions that no view handled.

Django's own views for them would read the form again, which may be the part that cannot be read.
"""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template

from chatsite.middleware import API
from conversations.errors import Refused, as_json, headers_of
from conversations.preferences import in_templates
from conversations.runtime.database import refusal_of


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The response to a bad request: JSON for the API's paths, a page for others."""
    if not request.path.startswith(API):
        return _page(request, 400)
    wrong_host = isinstance(exception, DisallowedHost)
    message = "Host: this site has another name." if wrong_host else "This request cannot be read."
    return _refusal(400, "invalid", message, **({"field": "Host"} if wrong_host else {}))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for something that a person may not do."""
    return _page(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for an unknown address."""
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an unhandled exception: JSON for the API's paths, a page for others.

    A database that is busy or cannot be written answers 503.
    """
    if refusal := refusal_of(sys.exc_info()[1]):
        return _database_refusal(request, refusal)
    if not request.path.startswith(API):
        return _page(request, 500)
    return _refusal(500, "internal", "Something went wrong on this site; its log says what.")


def _page(request: HttpRequest, status: int) -> HttpResponse:
    """The page of a status, without the other context processors, as one of them may have failed."""
    page = get_template(f"{status}.html").render(in_templates(request))
    return HttpResponse(page, status=status)


def _database_refusal(request: HttpRequest, refusal: Refused) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse(as_json(refusal), status=refusal.status, headers=headers_of(refusal))
    about = {"message": refusal.message, **in_templates(request)}
    page = get_template("error.html").render(about)
    return HttpResponse(page, status=refusal.status, headers=headers_of(refusal))


def _refusal(status: int, code: str, message: str, **detail: Any) -> JsonResponse:
    return JsonResponse(as_json(Refused(message, code=code, **detail)), status=status)
