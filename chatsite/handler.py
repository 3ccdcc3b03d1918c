"""Django's ASGI handler, which here keeps a request's body open as long as a thread may read it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from asgiref.sync import AsyncToSync
from django.core.handlers.asgi import ASGIHandler


class Handler(ASGIHandler):
    """A handler that closes a request's body only after its thread has finished.

    If the client disconnects or the server stops, the view may still be running in the thread. It runs to its end, and
    only its response is dropped. Django would close the body while the view reads it.
    """

    def create_request(self, scope: Any, body_file: Any) -> Any:
        if after := scope.get("after_thread"):
            body_file.close = partial(after, body_file.close)
        return super().create_request(scope, body_file)

    async def run_get_response(self, request: Any) -> Any:
        try:
            return await super().run_get_response(request)
        except asyncio.CancelledError:
            # The view may be within `async_to_sync`: asgiref then leaves the handler an executor that ends with it.
            AsyncToSync.executors.current = None
            raise
