"""A worker's hold of a row: renewed while it works, so that others take over only once it has fallen silent.

Each package names its own rows, and handles a lost lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from math import inf
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.db.models import QuerySet

from compression.leases import beat_seconds, expiry
from conversations.runtime.database import refusal_of

logger = logging.getLogger(__name__)

EARLY = 0.001
"""Seconds that a timer may fire before its time."""


class LeaseLost(Exception):
    """Another worker may be at it by now: nothing that was done under the lease may be written."""


class Lease:
    """`rows` returns the row while this process holds it; `name` is for the log, `expires` the column of the lease's
    end.

    The row is looked at every `look_seconds`, at every beat at least, and when `wake` is called.
    """

    def __init__(
        self,
        rows: Callable[[], QuerySet[Any]],
        name: str,
        *,
        expires: str = "lease_expires_at",
        look_seconds: float = inf,
    ) -> None:
        self.rows, self.name, self.expires, self.look_seconds = rows, name, expires, look_seconds
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()

    def wake(self) -> None:
        """Have the row looked at now; from any thread."""
        with contextlib.suppress(RuntimeError):  # a loop that has ended
            self._loop.call_soon_threadsafe(self._woken.set)

    async def watch(
        self, news: Callable[[], dict[str, Any]] = dict, stored: Callable[[dict[str, Any]], object] = bool
    ) -> None:
        """Renew the lease at each beat, until the row is not ours any more.

        `news` gives the columns that have changed since it was asked last; `stored` is called with them once they are.
        """
        renewed_at, is_ours = self._loop.time(), True
        while is_ours:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), min(self.look_seconds, beat_seconds()))
            self._woken.clear()
            columns = changed = news()
            if self._loop.time() - renewed_at >= beat_seconds() - EARLY:
                renewed_at, columns = self._loop.time(), changed | {self.expires: expiry()}
            try:
                is_ours = await sync_to_async(self._still_ours)(columns)
            except (DatabaseError, InterfaceError) as error:
                unknown = error if refusal_of(error) is None else None
                logger.error("the lease of %s could not be renewed", self.name, exc_info=unknown)
                await sync_to_async(close_old_connections)()  # nobody else does, while this is all that is asked of it
            else:
                if is_ours and changed:
                    stored(changed)

    def _still_ours(self, columns: dict[str, Any]) -> bool:
        return bool(self.rows().update(**columns)) if columns else self.rows().exists()
