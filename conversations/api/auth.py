"""Who asks: the owner of a key, or the person of a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja.errors import AuthenticationError
from ninja.security import APIKeyCookie, HttpBearer

from conversations.models import ApiKey
from conversations.models.api_key import digest
from conversations.throttles import note_guess, require_guesses, require_rate

USE_NOTED_EVERY = timedelta(minutes=1)


class Request(HttpRequest):
    """A request that has passed one of the classes below."""

    auth: User


class KeyAuth(HttpBearer):
    """A wrong key is refused, whatever session comes along with it."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        address = request.META.get("REMOTE_ADDR", "")
        require_guesses(address)
        key = (
            ApiKey.objects.select_related("user")
            .filter(hash=digest(token), revoked_at=None, user__is_active=True)
            .first()
        )
        if key is None:
            note_guess(address)
            raise AuthenticationError
        require_rate(key.user_id)
        _note_use(key)
        return cast(User, key.user)


class SessionAuth(APIKeyCookie):
    """The page's session; what changes something needs its CSRF token."""

    param_name = settings.SESSION_COOKIE_NAME

    def _get_key(self, request: HttpRequest) -> str | None:
        # First who, then CSRF: a caller who forgot the key is told so.
        if self.param_name not in request.COOKIES:
            raise AuthenticationError
        address = request.META.get("REMOTE_ADDR", "")
        require_guesses(address)
        if not request.user.is_authenticated:
            note_guess(address)
            raise AuthenticationError
        require_rate(request.user.pk)
        return super()._get_key(request)

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        return request.user


def _note_use(key: ApiKey) -> None:
    now = timezone.now()
    if key.last_used is None or now - key.last_used > USE_NOTED_EVERY:
        ApiKey.objects.filter(pk=key.pk).update(last_used=now)
