"""What is answered where something fails before any view, or in none that knows better."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseServerError, JsonResponse
from django.template.loader import get_template
from django.views import defaults

from chatsite.middleware import API
from conversations.errors import Refused, as_json
from conversations.preferences import appearance


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """In the API's own shape at its addresses, and a page elsewhere; so is `server_error`."""
    if not request.path.startswith(API):
        return defaults.bad_request(request, exception)
    wrong_host = isinstance(exception, DisallowedHost)
    message = "Host: this site has another name." if wrong_host else "This request cannot be read."
    return _refusal(400, "invalid", message, **({"field": "Host"} if wrong_host else {}))


def server_error(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith(API):
        # Without what other pages have in their contexts: it may be what fails.
        page = get_template("500.html").render({"theme": appearance(request).theme})
        return HttpResponseServerError(page)
    return _refusal(500, "internal", "Something went wrong on this site; its log says what.")


def _refusal(status: int, code: str, message: str, **detail: str) -> JsonResponse:
    return JsonResponse(as_json(Refused(message, code=code, **detail)), status=status)
