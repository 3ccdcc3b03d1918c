"""Starts and stops a server process by ASGI's lifespan protocol, as uvicorn speaks it."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import ExitStack
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from chatsite.request_threads import wait_for_threads
from chatsite.single_server import CannotStart, only_server
from chatsite.startup_checks import require_migrated, require_settings

logger = logging.getLogger(__name__)


async def lifespan(scope: Any, receive: Any, send: Any) -> None:
    """Handle the lifespan protocol; a start that cannot work is refused with one line."""
    from conversations.ops.process import Process

    held = ExitStack()
    await receive()
    try:
        await sync_to_async(_begin)(held)
    except Exception as error:
        await sync_to_async(held.close)()
        await send({"type": "lifespan.startup.failed", "message": _line(error)})
        return
    process = Process(asyncio.get_running_loop())
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await process.stop()
    await wait_for_threads()
    await sync_to_async(held.close)()
    await send({"type": "lifespan.shutdown.complete"})


def _begin(held: ExitStack) -> None:
    from conversations.ops import first_account, maintenance

    require_settings()
    require_migrated()
    maintenance.begin(alone=held.enter_context(only_server()))
    if not settings.LISTENS_AT and (invitation := first_account.invitation("")):
        print(invitation, file=sys.stderr, flush=True)


def _line(error: Exception) -> str:
    if isinstance(error, CannotStart):
        return str(error)
    logger.exception("the start failed", exc_info=error)
    return f"The start failed ({type(error).__name__})."
