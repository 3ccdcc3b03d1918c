"""Closes open connections whose session or API key is no longer valid.

A socket, a stream, or a request that waits for a reply was admitted by a session or a key. Either can end while the
connection is open: by signing out, a new password, a disabled account or a revoked key. Every CHECK_SECONDS, and at
once if this site itself made the change, three queries check all open connections of a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import batched
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db import InterfaceError, OperationalError, close_old_connections, transaction
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest
from django.utils import timezone

from conversations.models import ApiKey, User
from conversations.runtime.event_types import Signal
from conversations.runtime.events import hub, publish

CHECK_SECONDS = 3.0
"""The longest pause between two checks. With the time of a check, it stays below the promised 5 seconds."""
SOONEST = 0.2
"""The shortest pause between two checks, however many changes are announced."""
AT_ONCE = 5_000
"""The most connections that one query checks."""
EVERYONE = UUID(int=0)
"""Events published to this id reach every process; no conversation has it."""

logger = logging.getLogger(__name__)


class Admission:
    """The session or key that admitted an open connection; `close` is called on its loop once that is not valid."""

    __slots__ = ("close", "key_id", "loop", "password", "session", "user_id")

    def __init__(self, close: Callable[[], object]) -> None:
        self.loop, self.close = asyncio.get_running_loop(), close
        self.user_id: int | None = None
        self.password, self.session, self.key_id = 0, "", 0

    def by_session(self, user: AbstractBaseUser, session: str | None) -> None:
        """Note that a session admits the connection, until the password changes. Called from any thread."""
        self.password, self.session, self.user_id = hash(user.password), session or "", user.pk

    def by_key(self, key: ApiKey) -> None:
        """Note that an API key admits the connection. Called from any thread."""
        self.key_id, self.user_id = key.pk, key.user_id


def admission_of(request: HttpRequest) -> Admission | None:
    """The admission of a request to the server; None in a test without a server."""
    found: Admission | None = getattr(request, "scope", {}).get("admission")
    return found


_open: set[Admission] = set()


@contextmanager
def watched(admission: Admission) -> Iterator[Admission]:
    """Have the connection checked while the block runs."""
    _open.add(admission)
    try:
        yield admission
    finally:
        _open.discard(admission)


async def run() -> None:
    """Check the open connections for as long as the process lives."""
    with hub.listen(EVERYONE) as listener:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(listener.queue.get(), CHECK_SECONDS)
            try:
                await check()
            except (OperationalError, InterfaceError) as error:
                logger.error("open connections: the database cannot be used (%s)", type(error).__name__)
                await sync_to_async(close_old_connections)()
            await asyncio.sleep(SOONEST)
            listener.queue.clear()


async def check() -> None:
    """Check all open connections once and close those that are not valid any more."""
    asked = [admission for admission in list(_open) if admission.user_id is not None]
    if not asked:
        return
    for admission in await sync_to_async(ended)(asked):
        _open.discard(admission)
        admission.loop.call_soon_threadsafe(admission.close)


def ended(asked: list[Admission]) -> list[Admission]:
    """The admissions whose session, key or account is not valid any more."""
    passwords = dict[int, int]()
    for ids in batched({one.user_id for one in asked if one.user_id is not None}, AT_ONCE):
        rows = User.objects.filter(pk__in=ids, is_active=True).values_list("pk", "password")
        passwords.update((pk, hash(password)) for pk, password in rows.iterator())
    sessions, keys = set[str](), set[int]()
    for names in batched({admission.session for admission in asked} - {""}, AT_ONCE):
        live = Session.objects.filter(session_key__in=names, expire_date__gt=timezone.now())
        sessions.update(live.values_list("session_key", flat=True))
    for ids in batched({admission.key_id for admission in asked} - {0}, AT_ONCE):
        keys.update(ApiKey.objects.filter(pk__in=ids, revoked_at=None).values_list("pk", flat=True))
    return [one for one in asked if not _is_good(one, passwords, sessions, keys)]


def _is_good(one: Admission, passwords: dict[int, int], sessions: set[str], keys: set[int]) -> bool:
    if one.user_id not in passwords:
        return False
    if one.key_id:
        return one.key_id in keys
    return one.session in sessions and one.password == passwords[one.user_id]


def publish_access_change(**_: object) -> None:
    """Have every process check its connections after the commit, as a session, key or account may have ended."""
    transaction.on_commit(partial(publish, EVERYONE, Signal.ACCESS_CHANGED))


def _person_saved(*, created: bool, update_fields: frozenset[str] | None, **_: object) -> None:
    if not created and update_fields != {"last_login"}:  # each sign-in writes only last_login
        publish_access_change()


def begin() -> None:
    """Connect the signals of the changes that this process makes itself."""
    post_save.connect(_person_saved, sender=User, dispatch_uid="admission")
    for sender in (User, Session, ApiKey):
        post_delete.connect(publish_access_change, sender=sender, dispatch_uid="admission")
