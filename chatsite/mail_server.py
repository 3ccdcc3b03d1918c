"""Reads EMAIL_URL, which names the server that sends the site's mail."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
"""The schemes: without encryption, with STARTTLS, and with TLS from the first byte; with their usual ports."""
TIMEOUT_SECONDS = 30


def mailers(url: str) -> dict[str, Any]:
    """Django's MAILERS for an address such as smtps://name:password@smtp.example.org. Raises ValueError, KeyError."""
    parts = urlsplit(url)
    options = {
        "host": parts.hostname,
        "port": parts.port or PORTS[parts.scheme],
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_tls": parts.scheme == "smtp+tls",
        "use_ssl": parts.scheme == "smtps",
        "timeout": TIMEOUT_SECONDS,
    }
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError
    return {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}}
