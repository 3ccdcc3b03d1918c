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
    """Whom the session's cookie names, as `scope["user"]`."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        scope["user"] = await database_sync_to_async(user_of)(dict(scope["headers"]).get(b"cookie", b""))
        await inner(scope, receive, send)

    return application


def user_of(cookies: bytes) -> AbstractBaseUser | AnonymousUser:
    """The person whose session it is, checked as for a page."""
    key = parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME)
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return get_user(request)
