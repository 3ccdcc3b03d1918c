"""Identifies the user of a socket. Only the user is kept in memory, as many sockets stay open for hours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, parse_cookie

from conversations.preferences import language_of


def signed_in(inner: Any) -> Any:
    """`inner` with `user`, `session_key` and `language` in its scope: those that a page of this browser has."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        cookies = headers.get(b"cookie", b"")
        scope["user"], scope["session_key"] = await database_sync_to_async(user_of)(cookies), session_of(cookies)
        accepted = headers.get(b"accept-language", b"").decode("latin1")
        scope["language"] = language_of(parse_cookie(cookies.decode("latin1")), accepted)
        await inner(scope, receive, send)

    return application


def user_of(cookies: bytes) -> AbstractBaseUser | AnonymousUser:
    """The user of the session that the cookies name, checked as for a page."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_of(cookies))
    return get_user(request)


def session_of(cookies: bytes) -> str | None:
    """The session key that the cookies name, valid or not."""
    return parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
