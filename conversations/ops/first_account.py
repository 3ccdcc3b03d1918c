"""Decides who may create the first account.

Anybody may if the site serves this machine alone; else the printed token is needed.
"""

from __future__ import annotations

from pathlib import Path
from secrets import compare_digest

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from conversations.models import User
from conversations.runtime.private_files import read_or_make_secret

LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAMES = (*LOOPBACK, "[::1]")
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Via")


def needs_token(request: HttpRequest) -> bool:
    """Whether a token is needed: not if the server listens to this machine alone and no proxy can have forwarded the
    request.
    """
    name, _ = split_domain_port(request.get_host())
    is_here = settings.LISTENS_ON_LOOPBACK and not settings.BEHIND_TLS and name in NAMES
    return not is_here or any(header in request.headers for header in FORWARDED)


def is_right(given: str) -> bool:
    return compare_digest(given.strip().encode(), token().encode())


def token() -> str:
    """The token, which is kept beside the database so that all processes of a site share it."""
    return read_or_make_secret(_file())


def forget() -> None:
    """Delete the token once there is an account."""
    _file().unlink(missing_ok=True)


def invitation(url: str) -> str:
    """The address at which the first account is created, for the server's log; "" if there is an account."""
    if User.objects.exists():
        return ""
    return f"The first account, which administers this site, is made at {url}/setup/?token={token()}"


def _file() -> Path:
    return Path(settings.DATA_DIR) / "setup_token"
