"""Answers /healthz and /readyz on the loop, apart from the queues of other requests."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from conversations.ops import health

PROBES: dict[str, Callable[[], Awaitable[tuple[int, dict[str, Any]]]]] = {
    "/healthz": health.is_well,
    "/readyz": health.is_ready,
}
LOCAL = ["localhost", ".localhost", "127.0.0.1", "[::1]"]


def is_probe(scope: Any) -> bool:
    """Whether a request is for /healthz or /readyz."""
    return scope["path"] in PROBES


async def answer(scope: Any, send: Any) -> None:
    """Answer a probe with JSON; no credentials are needed, but one of the site's own host names."""
    if _is_named(dict(scope["headers"]).get(b"host", b"").decode("latin1")):
        status, report = await PROBES[scope["path"]]()
    else:
        status, report = 400, {"status": "this site has another name"}
    body = json.dumps(report).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _is_named(host: str) -> bool:
    allowed = settings.ALLOWED_HOSTS or (LOCAL if settings.DEBUG else [])
    return validate_host(split_domain_port(host)[0], allowed)
