"""The site's own middleware: compression, cache headers, and separate URLs for the API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.decorators import sync_only_middleware
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware

from conversations.runtime import log_context

View = Callable[[HttpRequest], HttpResponseBase]
API = "/api/"
IN_ENGLISH = (API, "/v1/", "/metrics", "/health")
HTML = "text/html"
COMPRESSED = {HTML, "text/css", "text/javascript", "image/svg+xml"}


class WithoutPadding(GZipMiddleware):
    """Compresses files that are the same for everybody: no secret in them can be guessed from their size."""

    max_random_bytes = 0


class Compressed(GZipMiddleware):
    """Compresses pages, styles, scripts and SVG to a quarter; other responses, above all streams, stay as they are."""

    def __init__(self, get_response: View) -> None:
        super().__init__(get_response)
        self._files = WithoutPadding(get_response)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if response.status_code != 200 or kind not in COMPRESSED:
            return response
        if kind != HTML:
            return self._files.process_response(request, response)
        return super().process_response(request, response)


class StaticFiles(WhiteNoiseMiddleware):
    """Serves static files as whole responses: ASGI reads the whole file in any case, and warns of a stream."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        with closing(WhiteNoiseMiddleware.serve(static_file, request)) as streamed:
            response = HttpResponse(b"".join(streamed), status=streamed.status_code)
        response.headers = streamed.headers
        return response


class Private(MiddlewareMixin):
    """Forbids all caches, also the browser's, to store responses.

    The header is `no-store`, not `no-cache`: with the latter, Back after signing out shows pages again, and they stay
    on the disk. Back and Forward fetch pages again in any case, as their open socket keeps them out of the browser's
    memory. Static files have a `max-age` of their own and are not changed.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        said = response.headers.get("Cache-Control", "")
        if "max-age" not in said and "private, no-store" not in said:
            response.headers["Cache-Control"] = "private, no-store"
        return response


class Language(LocaleMiddleware):
    """Activates the language that the person chose, else the first of the browser's that the pages are written in.

    Programs get English, as they compare texts.
    """

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith(IN_ENGLISH):
            translation.activate("en")
            request.LANGUAGE_CODE = "en"
        else:
            super().process_request(request)


@sync_only_middleware
def api_apart(get_response: View) -> View:
    """Resolves the API's URLs separately, so that its libraries (12 MB) are loaded by its first request.

    As the innermost middleware, and a synchronous one, it also keeps all others in the request's thread. If some could
    be asynchronous, Django would switch between loop and thread at each step.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(API):
            request.urlconf = "chatsite.api_urls"
        response = get_response(request)
        _note_person(request)
        return response

    return middleware


def _note_person(request: HttpRequest) -> None:
    """Add the user's id to the log, if the request had to identify its user by a key or a session."""
    person = getattr(request, "auth", None) or getattr(request, "_cached_user", None)
    if person is not None and person.pk is not None:
        log_context.bind(user_id=person.pk)
