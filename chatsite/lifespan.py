"""The beginning and the end of a server process that speaks ASGI's lifespan protocol, as uvicorn does."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import ExitStack
from typing import Any

from asgiref.sync import sync_to_async

from chatsite.alone import CannotStart, only_server
from chatsite.start import require_migrated, require_settings
from chatsite.threads import settle

logger = logging.getLogger(__name__)


async def lifespan(scope: Any, receive: Any, send: Any) -> None:
    """A start that cannot work is refused in one line."""
    from conversations.process import Process

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
    await settle()
    await sync_to_async(held.close)()
    await send({"type": "lifespan.shutdown.complete"})


def _begin(held: ExitStack) -> None:
    from conversations import first_account, upkeep

    require_settings()
    require_migrated()
    upkeep.begin(alone=held.enter_context(only_server()))
    if said := first_account.invitation(""):
        print(said, file=sys.stderr, flush=True)


def _line(error: Exception) -> str:
    if isinstance(error, CannotStart):
        return str(error)
    logger.exception("the start failed", exc_info=error)
    return f"The start failed ({type(error).__name__})."
