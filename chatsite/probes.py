"""/healthz and /readyz: answered on the loop, outside all that pages and programs wait for."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from conversations import health

PROBES: dict[str, Callable[[], Awaitable[tuple[int, dict[str, Any]]]]] = {
    "/healthz": health.is_well,
    "/readyz": health.is_ready,
}
LOCAL = ["localhost", ".localhost", "127.0.0.1", "[::1]"]


def is_probe(scope: Any) -> bool:
    return scope["path"] in PROBES


async def answer(scope: Any, send: Any) -> None:
    """JSON, whoever asks, by one of the site's own names."""
    if _is_named(dict(scope["headers"]).get(b"host", b"").decode("latin1")):
        status, told = await PROBES[scope["path"]]()
    else:
        status, told = 400, {"status": "this site has another name"}
    body = json.dumps(told).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _is_named(host: str) -> bool:
    allowed = settings.ALLOWED_HOSTS or (LOCAL if settings.DEBUG else [])
    return validate_host(split_domain_port(host)[0], allowed)
