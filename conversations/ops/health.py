"""Checks whether this server answers (/healthz) and whether it can do its work (/readyz)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, wait
from math import inf
from threading import Lock, Thread
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, connection, connections
from django.http import HttpRequest, JsonResponse

from conversations.llm.probes import reachability
from conversations.memory import message_index
from conversations.runtime import database, queue

FRESH_SECONDS = 1.0
"""Seconds for which a check's result is used again: each check runs at most once a second."""
SECONDS = 3.0
"""The most seconds of all checks together."""
HEARD_SECONDS = 30
"""Seconds since its last sign for which a worker counts as present."""
WORKER = "worker"
OK, NOT_USED = "ok", "not used"
LATE = f"no answer within {SECONDS:g} s"


class Check:
    """A check that may hang, in a thread of its own.

    `ask` returns OK, NOT_USED, or the fault. It runs once at a time: callers that come meanwhile get the same result.
    """

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._pending: Future[str] | None = None
        self._latest, self._at = "", -inf

    def begin(self) -> Future[str]:
        with self._lock:
            if self._pending is None or self._pending.done():
                self._pending = Future()
                # A daemon thread: a check that hangs does not keep the process from exiting.
                Thread(target=self._answer, args=[self._pending], name="check", daemon=True).start()
            return self._pending

    async def latest(self) -> str:
        """The result of the last FRESH_SECONDS, or a new one; waits at most SECONDS. Call it on the loop."""
        if monotonic() - self._at > FRESH_SECONDS:
            pending = self.begin()
            if monotonic() - self._at > SECONDS:  # a younger result is returned at once, while the check runs
                await asyncio.wait([asyncio.wrap_future(pending)], timeout=SECONDS)
                return pending.result() if pending.done() else LATE
        return self._latest

    def _answer(self, future: Future[str]) -> None:
        self._find(future)
        self._latest, self._at = future.result(), monotonic()

    def _find(self, future: Future[str]) -> None:
        try:
            future.set_result(self._ask())
        except (DatabaseError, InterfaceError) as error:
            future.set_result(f"the database cannot be used ({type(error).__name__})")
        except Exception as error:
            future.set_result(f"cannot be used ({type(error).__name__})")
        finally:
            connections.close_all()


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _writes() -> str:
    database.require_writable()
    return OK


def _redis() -> str:
    if not settings.REDIS_URL:
        return NOT_USED
    from django_redis import get_redis_connection

    get_redis_connection("default").ping()
    return OK


def _worker() -> str:
    if queue.is_here():
        return NOT_USED
    return OK if cache.get(WORKER) else f"none was heard of in {HEARD_SECONDS} s"


def index_state() -> str:
    """The state of the search index. A fault does not make the site unready: pages and turns work without the index."""
    return str(message_index.health())


CHECKS = {
    "database": Check(_database),
    "writes": Check(_writes),
    "redis": Check(_redis),
    "worker": Check(_worker),
    "model": Check(lambda: reachability.fault() or OK),
}
SEARCH_INDEX = Check(index_state)


def healthz(request: HttpRequest) -> JsonResponse:
    try:
        _database()
    except (DatabaseError, InterfaceError):
        return JsonResponse({"status": "no database"}, status=503)
    return JsonResponse({"status": OK})


def readyz(request: HttpRequest) -> JsonResponse:
    asked = {name: check.begin() for name, check in CHECKS.items()}
    indexed = SEARCH_INDEX.begin()
    wait([*asked.values(), indexed], timeout=SECONDS)
    found = {name: future.result() if future.done() else LATE for name, future in asked.items()}
    code, answer = _readiness(found, indexed.result() if indexed.done() else LATE)
    return JsonResponse(answer, status=code, headers={"Cache-Control": "no-store"})


async def is_well() -> tuple[int, dict[str, Any]]:
    """The answer of /healthz, without a thread of those that serve."""
    is_good = await CHECKS["database"].latest() == OK
    return (200, {"status": OK}) if is_good else (503, {"status": "no database"})


async def is_ready() -> tuple[int, dict[str, Any]]:
    *found, indexed = await asyncio.gather(*(check.latest() for check in (*CHECKS.values(), SEARCH_INDEX)))
    return _readiness(dict(zip(CHECKS, found, strict=True)), indexed)


def _readiness(found: dict[str, str], indexed: str) -> tuple[int, dict[str, Any]]:
    is_good = set(found.values()) <= {OK, NOT_USED}
    status = "ready" if is_good else "not ready"
    return (200 if is_good else 503), {"status": status, "checks": found, "search_index": indexed}


def worker_is_here() -> None:
    """Note that a worker is present, for the processes that serve pages."""
    cache.set(WORKER, True, timeout=HEARD_SECONDS)
