"""The responses to requests that are refused before they reach Django."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from chatsite.gateway_handler import GATEWAY
from chatsite.middleware import API
from conversations.errors import Refused, as_json, headers_of

LINGER_SECONDS = 5.0
"""The rest of a refused body is read and dropped for this long: a client that still writes would miss the response."""


class BodyTooLarge(Refused):
    """The body exceeds the limit of its path."""

    code = "body_too_large"
    status = 413

    def __init__(self, most: int = 0, *, path: str = "") -> None:
        most = most or settings.MAX_BODY_BYTES
        advice = " Images count in full: start a new session, or send fewer." if path.startswith(GATEWAY) else ""
        super().__init__(f"body: at most {most:,} bytes may be sent at once.{advice}", field="body", limit=most)


class Unknown(Refused):
    """The body is too large for a sender without a session or key."""

    code = "unauthenticated"
    status = 401

    def __init__(self, most: int) -> None:
        said = f"body: sign in first, or send a valid key. Without, at most {most:,} bytes may be sent."
        super().__init__(said, field="body", limit=most)


class TooSlow(Refused):
    """A part of the request did not arrive in time."""

    code = "too_slow"
    status = 408

    def __init__(self, part: str, seconds: float) -> None:
        super().__init__(f"{part}: this request did not arrive within {seconds:g} seconds.", field=part, limit=seconds)


class Busy(Refused):
    """The site has no room or place for the request at the moment."""

    code = "busy"
    status = 503
    retry_after = 5

    def __init__(self) -> None:
        said = "The site is busy. Nothing was stored: try again in a moment."
        super().__init__(said, retry_after=self.retry_after)


class SignedOut(Refused):
    """The request's session or key became invalid before the response began."""

    code = "unauthenticated"
    status = 401

    def __init__(self) -> None:
        super().__init__("What this request was let in by was taken back meanwhile. Sign in, or send a valid key.")


class ServerStopping(Refused):
    """The server is stopping and gives the request up."""

    code = "busy"
    status = 503

    def __init__(self) -> None:
        super().__init__("This site is being stopped. Try again in a moment.", retry_after=Busy.retry_after)


def answer(refusal: Refused, *, path: str, method: str, is_htmx: bool) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """(headers, body) of a refusal: JSON for the API, an alert for htmx, a page of its own for all others."""
    kind, more = "text/html; charset=utf-8", {}
    if path.startswith((API, GATEWAY)):
        kind = "application/json"
        text = json.dumps(as_json(refusal))
    elif is_htmx:
        text = render_to_string("conversations/shared/_alert.html", {"message": refusal.without_field})
        if method != "GET":  # a page repeats its own GET requests by itself
            more = {"HX-Retarget": "#alert", "HX-Reswap": "innerHTML"}
    else:
        text = render_to_string("error.html", {"message": refusal.without_field})
    body = text.encode()
    headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"} | more
    headers |= headers_of(refusal)
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()], body


async def refuse(scope: Any, receive: Any, send: Any, refusal: Refused) -> None:
    """Send a refusal. `receive` gives the rest of the body; None if all of it has arrived."""
    is_htmx = any(name == b"hx-request" for name, _ in scope["headers"])
    headers, body = answer(refusal, path=scope["path"], method=scope["method"], is_htmx=is_htmx)
    if receive:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if receive:
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await receive()).get("more_body"):
                    pass
    await send({"type": "http.response.body", "body": b""})
