"""Who opens a socket. Nothing of it is kept but the user: sockets stay open for hours, and there are many."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, parse_cookie


def signed_in(inner: Any) -> Any:
    """Whom the session's cookie names, as `scope["user"]`, and the session as `scope["session_key"]`."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        cookies = dict(scope["headers"]).get(b"cookie", b"")
        scope["user"], scope["session_key"] = await database_sync_to_async(user_of)(cookies), session_of(cookies)
        await inner(scope, receive, send)

    return application


def user_of(cookies: bytes) -> AbstractBaseUser | AnonymousUser:
    """The person whose session it is, checked as for a page."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_of(cookies))
    return get_user(request)


def session_of(cookies: bytes) -> str | None:
    """The key of the session that a cookie names, whether or not there is one."""
    return parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
