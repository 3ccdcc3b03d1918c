"""The server of `benchmarks.live`'s streaming figure: `serve`, whose hub writes tokens by itself for a while.

Prints the CPU a token of this process, sockets, frames and coalescing included, less what it uses when idle.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from uuid import UUID


def main() -> None:
    port, rate, seconds = (int(value) for value in sys.argv[1:4])
    conversations = [UUID(value) for value in sys.argv[4:]]
    import django

    django.setup()
    from chatsite.management.commands import serve
    from conversations.events import hub

    async def feed() -> None:
        while len(hub.listeners) < len(conversations):
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        began, used, tokens = time.perf_counter(), time.process_time(), 0
        for tick in range(rate * seconds):
            for number, conversation in enumerate(conversations):
                hub.feed(conversation, "0", f"{time.time():.4f}|", at=0)
                tokens += 1
                if number % 20 == 19:
                    await asyncio.sleep(0)
            await asyncio.sleep(max(0.0, began + (tick + 1) / rate - time.perf_counter()))
        took = time.perf_counter() - began
        cpu = (time.process_time() - used) / tokens
        print(f"{tokens / took:,.0f} tokens/s at {1e6 * cpu:.0f} µs CPU a token", flush=True)
        os.kill(os.getpid(), signal.SIGINT)

    def ready() -> None:
        from daphne.server import twisted_loop

        main.feeding = twisted_loop.create_task(feed())  # type: ignore[attr-defined]

    serve.run("127.0.0.1", port, ready=ready)


if __name__ == "__main__":
    main()
