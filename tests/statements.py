"""What the database is asked, seen or refused on the way: a fault of the database, and none of our functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection


@asynccontextmanager
async def through(wrapper: Callable[..., Any]) -> AsyncIterator[None]:
    """Have every statement of the tasks of this process go through `wrapper`: they share a connection."""
    await sync_to_async(lambda: connection.execute_wrappers.append(wrapper))()
    try:
        yield
    finally:
        await sync_to_async(lambda: connection.execute_wrappers.remove(wrapper))()
