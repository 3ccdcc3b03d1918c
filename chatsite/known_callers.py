"""Identifies a request's sender by the headers alone, before a large body is read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from django.db import DatabaseError, InterfaceError, close_old_connections

from chatsite.socket_auth import session_of, user_of
from conversations import api_keys, limits
from conversations.errors import Refused
from conversations.models.api_key import digest, key_of

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="known")


async def is_known(headers: Iterable[tuple[bytes, bytes]], address: str) -> bool:
    """Whether the headers have a valid session or key; a wrong key counts as a guess of this address."""
    given = dict(headers)
    if not has_credentials(given):
        return False
    return await asyncio.get_running_loop().run_in_executor(_thread, _ask, given, address)


def has_credentials(headers: dict[bytes, bytes]) -> bool:
    """Whether the headers name a session or a key, valid or not."""
    return bool(credentials(headers))


def credentials(headers: dict[bytes, bytes]) -> str:
    """The key, or else the session, that the headers name, valid or not; "" if they name none."""
    return _key(headers) or session_of(headers.get(b"cookie", b"")) or ""


def _ask(headers: dict[bytes, bytes], address: str) -> bool:
    try:
        close_old_connections()
        if plain := _key(headers):
            return _has_key(plain, address)
        return user_of(headers.get(b"cookie", b"")).is_authenticated
    except (DatabaseError, InterfaceError, Refused):
        return False


def _has_key(plain: str, address: str) -> bool:
    limits.require_guesses(address, digest=digest(plain))
    if key_of(plain):
        return True
    limits.note_guess(address)
    return False


def _key(headers: dict[bytes, bytes]) -> str:
    return api_keys.key_in(*(headers.get(name, b"").decode("latin1") for name in (b"authorization", b"x-api-key")))
