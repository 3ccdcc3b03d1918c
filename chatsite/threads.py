"""Threads for requests that outlive them, each with its open database connection.

Django's ASGI handler makes a thread for every request, and the thread makes a connection: 7 ms on SQLite, most of
what a page takes. It leaves both to whoever has chosen a thread before, which is what this does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from asgiref.sync import ThreadSensitiveContext
from django.db import connections

IDLE = 8
"""Threads that are kept for the next requests."""

_idle: list[ThreadPoolExecutor] = []


@asynccontextmanager
async def request_thread() -> AsyncIterator[None]:
    """A thread for the synchronous parts of one request, taken from those that are idle."""
    thread = _idle.pop() if _idle else ThreadPoolExecutor(max_workers=1, thread_name_prefix="request")
    try:
        async with ThreadSensitiveContext(executor=thread):
            yield
    finally:
        # A request that was given up may have left work in its thread: nobody shall wait behind it.
        thread.submit(_put_back, thread)


def _put_back(thread: ThreadPoolExecutor) -> None:
    """The last work of a request in its thread."""
    if len(_idle) < IDLE:
        _idle.append(thread)
    else:
        connections.close_all()
        thread.shutdown(wait=False)
