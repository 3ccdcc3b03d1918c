"""Identifies the caller: the owner of a key, or the user of a session."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import APIKeyCookie, HttpBearer

from conversations import api_keys
from conversations.admission import admission_of
from conversations.errors import MEDIA_TYPE, UnsupportedMediaType
from conversations.limits import note_guess, require_guesses, require_rate
from conversations.models import User

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Request(HttpRequest):
    """A request that has passed one of the classes below."""

    auth: User


class KeyAuth(HttpBearer):
    """A key in the header. A wrong key is refused, even in a request with a session."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        key = api_keys.let_in(token, address=request.META.get("REMOTE_ADDR", ""))
        if key is None:
            raise AuthenticationError
        if admission := admission_of(request):
            admission.by_key(key)
        return cast(User, key.user)


class SessionAuth(APIKeyCookie):
    """The page's session; a request that changes something needs its CSRF token."""

    param_name = settings.SESSION_COOKIE_NAME

    def _get_key(self, request: HttpRequest) -> str | None:
        # The sign-in is checked before CSRF: a caller who forgot the key gets that answer.
        if self.param_name not in request.COOKIES:
            raise AuthenticationError
        address = request.META.get("REMOTE_ADDR", "")
        require_guesses(address)
        if not request.user.is_authenticated:
            note_guess(address)
            raise AuthenticationError
        require_rate(request.user.pk)
        if request.method == "POST" and request.content_type in FORMS:
            raise UnsupportedMediaType(MEDIA_TYPE)  # the token would be looked for in it, and the whole of it read
        return super()._get_key(request)

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        if admission := admission_of(request):
            admission.by_session(cast(User, request.user), request.session.session_key)
        return request.user
