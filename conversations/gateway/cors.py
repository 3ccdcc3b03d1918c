"""Lets web pages of the origins in GATEWAY_CORS_ORIGINS call the gateway from a browser.

Source: the Fetch standard's CORS protocol (fetch.spec.whatwg.org).
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

EVERY = "*"
PREFLIGHT_SECONDS = 600
"""The time for which a browser need not ask again."""
EXPOSED = (
    "X-Chatsite-Tokens-Before, X-Chatsite-Tokens-After, X-Chatsite-Checkpoint, X-Chatsite-Left-Out, X-Chatsite-Model, "
    "X-Request-ID, Request-Id, Retry-After"
)


def preflight(request: HttpRequest) -> HttpResponse | None:
    """The answer to a browser's question before its call; None for other requests.

    The key is sent in a header and never as a cookie, so that credentials need no permission.
    """
    if request.method != "OPTIONS" or "Access-Control-Request-Method" not in request.headers:
        return None
    response = HttpResponse(status=204)
    if _allowed(request):
        response.headers["Access-Control-Allow-Methods"] = "GET, POST, DELETE"
        response.headers["Access-Control-Allow-Headers"] = request.headers.get("Access-Control-Request-Headers", "")
        response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    return with_origin(request, response)


def with_origin[R: HttpResponseBase](request: HttpRequest, response: R) -> R:
    """The response, readable by the page that asked for it if its origin is allowed."""
    if settings.GATEWAY_CORS_ORIGINS:
        response.headers["Vary"] = "Origin"
    if _allowed(request):
        response.headers["Access-Control-Allow-Origin"] = request.headers["Origin"]
        response.headers["Access-Control-Expose-Headers"] = EXPOSED
    return response


def _allowed(request: HttpRequest) -> bool:
    origins = settings.GATEWAY_CORS_ORIGINS
    return "Origin" in request.headers and (EVERY in origins or request.headers["Origin"] in origins)
