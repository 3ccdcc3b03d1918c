"""Whose pages may open a socket: browsers send cookies across ports, so the port counts as well as the host."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings


def same_origin(inner: Any) -> Any:
    """Only pages of this very site, or of CSRF_TRUSTED_ORIGINS; whether its host is ours is checked before."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await (inner if is_trusted(dict(scope["headers"])) else WebsocketDenier.as_asgi())(scope, receive, send)

    return application


def is_trusted(headers: dict[bytes, bytes]) -> bool:
    origin, host = (headers.get(name, b"").decode("latin1") for name in (b"origin", b"host"))
    return bool(origin) and (urlsplit(origin).netloc == host or origin in settings.CSRF_TRUSTED_ORIGINS)
