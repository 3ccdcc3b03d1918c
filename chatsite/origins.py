"""Checks the origin of sockets. The port counts too, as browsers send cookies to all ports of a host."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings


def same_origin(inner: Any) -> Any:
    """`inner` for sockets from this site's pages or CSRF_TRUSTED_ORIGINS only; the Host header is checked elsewhere."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await (inner if is_trusted(dict(scope["headers"])) else WebsocketDenier.as_asgi())(scope, receive, send)

    return application


def is_trusted(headers: dict[bytes, bytes]) -> bool:
    """Whether the Origin header names this site or one of CSRF_TRUSTED_ORIGINS."""
    origin, host = (headers.get(name, b"").decode("latin1") for name in (b"origin", b"host"))
    return bool(origin) and (urlsplit(origin).netloc == host or origin in settings.CSRF_TRUSTED_ORIGINS)
