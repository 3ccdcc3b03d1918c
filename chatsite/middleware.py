"""How a request reaches its view."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.decorators import sync_only_middleware
from django.utils.deprecation import MiddlewareMixin

from conversations.runtime import log_context

View = Callable[[HttpRequest], HttpResponseBase]
API = "/api/"
COMPRESSED = {"text/html", "text/css", "text/javascript", "image/svg+xml"}


class Compressed(GZipMiddleware):
    """Pages, and what they are made with, take a quarter of the bytes. Nothing else does: least of all a stream."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if response.status_code != 200 or kind not in COMPRESSED:
            return response
        return super().process_response(request, response)


class Private(MiddlewareMixin):
    """What a signed-in person is sent is kept by no cache, on the way or in the browser.

    `no-store`, not `no-cache`: with the latter, Back after signing out shows pages again without asking, and they stay
    on the disk. Back and Forward fetch a page anew, as they did: an open socket keeps it out of the browser's memory.
    Static files and attachments, which say `public` or `private` with an age of their own, stay as they are.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        said = response.headers.get("Cache-Control", "")
        if "max-age" not in said and "private, no-store" not in said:
            response.headers["Cache-Control"] = "private, no-store"
        return response


@sync_only_middleware
def api_apart(get_response: View) -> View:
    """Addresses of the API are resolved by themselves: its libraries are loaded, 12 MB, when the first one is asked.

    As the innermost middleware, and a synchronous one, it also keeps all others in the request's thread: where some
    can be asynchronous, Django sends each step of each from the loop to the thread and back.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(API):
            request.urlconf = "chatsite.api_urls"
        response = get_response(request)
        _note_person(request)
        return response

    return middleware


def _note_person(request: HttpRequest) -> None:
    """Who has asked, where that had to be known: the owner of a key, or the person of a session."""
    person = getattr(request, "auth", None) or getattr(request, "_cached_user", None)
    if person is not None and person.pk is not None:
        log_context.bind(user_id=person.pk)
