"""A process of the site whose hub writes tokens by itself when it is told to: `… server KIND PORT`.

It is a `web` process, as `compose.yaml` starts it, or a `worker` without pages.
It is asked in lines of JSON: so many `streams` of `rate` tokens a second for `seconds`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from uuid import UUID

SLOTS = 200
"""Moments of a second at which tokens come: those of all streams are spread over them."""


def main() -> None:
    import django

    django.setup()
    {"web": web, "worker": worker}[sys.argv[1]](int(sys.argv[2]))


def web(port: int) -> None:
    from uvicorn import run

    from chatsite.asgi import application

    async def with_feed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            listen(asyncio.get_running_loop())
        await application(scope, receive, send)

    run(
        with_feed,
        port=port,
        log_level="warning",
        http="chatsite.servers.uvicorn:Http",
        ws="chatsite.servers.uvicorn:Socket",
    )


def worker(_: int) -> None:
    asyncio.run(_work())


async def _work() -> None:
    from conversations.ops.process import Process

    process = Process(asyncio.get_running_loop(), hears=False)
    listen(asyncio.get_running_loop())
    print("{}", flush=True)
    await asyncio.Event().wait()
    await process.stop()


def listen(loop: asyncio.AbstractEventLoop) -> None:
    """Take what the standard input says, a line at a time."""
    feeding: set[asyncio.Task[None]] = set()

    def take() -> None:
        if line := sys.stdin.readline():
            task = loop.create_task(feed(**json.loads(line)))
            feeding.add(task)
            task.add_done_callback(feeding.discard)
        else:
            loop.remove_reader(sys.stdin)

    loop.add_reader(sys.stdin, take)


async def feed(streams: list[str], rate: int, seconds: float) -> None:
    """Tokens for every stream, each with the moment at which it came; those that are late come at once."""
    from conversations.runtime.events import hub

    ids = [(UUID(stream), f"m-{stream}") for stream in streams]
    written = [0] * len(ids)
    total, fed = int(len(ids) * rate * seconds), 0
    began = time.monotonic()
    while fed < total:
        due = min(total, int((time.monotonic() - began) * len(ids) * rate) + 1)
        text = f"{time.monotonic():.4f}|"
        while fed < due:
            place = fed % len(ids)
            hub.feed(*ids[place], text, at=written[place])
            written[place] += len(text)
            fed += 1
        await asyncio.sleep(1 / SLOTS)
    took = time.monotonic() - began
    for conversation_id, message_id in ids:
        hub.ended(conversation_id, message_id)
    print(json.dumps({"tokens": fed, "seconds": took}), flush=True)


if __name__ == "__main__":
    main()
