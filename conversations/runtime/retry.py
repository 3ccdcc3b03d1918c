"""Retries a save that the database refused because it was busy or away for a moment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections

from conversations.runtime.database import refusal_of

logger = logging.getLogger(__name__)

PAUSES_SECONDS = (0.2, 1.0, 5.0)
"""The pauses before each further attempt."""


async def retry_on_database_error[T](save: Callable[[], T]) -> T:
    """The result of `save`, which must be a separate transaction. Raises the database's error of the last attempt."""
    for pause in PAUSES_SECONDS:
        try:
            return await sync_to_async(save)()
        except (DatabaseError, InterfaceError) as error:
            unknown = error if refusal_of(error) is None else None
            logger.error("the database refused a part of a turn; it is tried again in %s s", pause, exc_info=unknown)
            await sync_to_async(close_old_connections)()
            await asyncio.sleep(pause)
    return await sync_to_async(save)()
