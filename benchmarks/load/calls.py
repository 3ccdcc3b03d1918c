"""Long calls at the gateway, many at once: their time, and the CPU of the site for each.

Each caller has a history of its own, of 50,000 to 100,000 tokens, and asks again with two messages more, as an agent
does. The first call of a history and the later ones are told apart. `BESIDE=URL` measures another proxy in the same way
(`BESIDE_KEY`, and `BESIDE_PID` for its CPU); its model has to be `scripted`, at the printed address.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.goals import sized
from benchmarks.load.child import cpu
from benchmarks.load.figures import row, table
from benchmarks.talk import turns
from compression.core.tokens import count_tokens
from tests.furnishing import furnish
from tests.journeys.site import Site

AT_ONCE = sized((16, 64), small=(2,))
TOKENS = sized((50_000, 100_000), small=(500, 1_000))
ROUNDS = sized(4, small=2)
"""Calls of each history, the first included."""
ANSWER = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "All right."}}],
    }
).encode()
PORT = int(os.environ.get("MODEL_PORT", "0"))


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    table("calls at once", "by", "first calls, p50 / p95", "later calls, p50", "p95", "p99", "calls/s", "refused",
          "CPU a call")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder:
        async with provider() as url:
            key, _ = await asyncio.to_thread(furnish, Path(folder))
            with Site(Path(folder), llm_url=url, window=200_000) as site:
                if PORT:
                    print(f"The model is at {url}.")
                ways: list[tuple[str, str, str, int]] = [
                    ("the model itself", url, "sk-test", 0),
                    ("this site", f"{site.url}/v1", key, site.process.pid),
                ]
                if beside := os.environ.get("BESIDE"):
                    pid = int(os.environ.get("BESIDE_PID", "0"))
                    ways.append(("the other proxy", beside, os.environ.get("BESIDE_KEY", ""), pid))
                for number in AT_ONCE:
                    for name, address, secret, process in ways:
                        await measure(number, name, address, secret, process)


async def measure(number: int, name: str, url: str, key: str, process: int) -> None:
    chance = random.Random(f"{number} {name}")
    bodies = [bodies_of(chance.randint(*TOKENS), seed=chance.random()) for _ in range(number)]
    used, began = cpu(process) if process else 0.0, time.monotonic()
    timeout = httpx2.Timeout(120)
    limits = httpx2.Limits(max_connections=number, max_keepalive_connections=number)
    async with httpx2.AsyncClient(timeout=timeout, limits=limits, headers={"Authorization": f"Bearer {key}"}) as client:
        took = await asyncio.gather(*(_ask(client, url, some) for some in bodies))
    elapsed = time.monotonic() - began
    used = cpu(process) - used if process else 0.0
    refused = sum(seconds is None for some in took for seconds in some)
    first = sorted(some[0] for some in took if some[0] is not None)
    later = sorted(seconds for some in took for seconds in some[1:] if seconds is not None)
    calls = number * ROUNDS
    row(
        f"{number}",
        name,
        f"{_at(first, 0.5)} / {_at(first, 0.95)}",
        *(_at(later, share) for share in (0.5, 0.95, 0.99)),
        f"{calls / elapsed:.1f}",
        f"{refused}",
        f"{1000 * used / calls:.0f} ms" if process else "",
    )


def bodies_of(tokens: int, *, seed: float) -> list[bytes]:
    """The bodies of one caller's calls: a history of this many tokens, with two messages more each time."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    taken = 0
    for question, reply in turns(tokens, seed=seed):
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
        taken += count_tokens(question) + count_tokens(reply)
        if taken > tokens:
            break
    bodies = []
    for number in range(ROUNDS):
        messages.append({"role": "user", "content": f"And step {number}?"})
        bodies.append(json.dumps({"model": "scripted", "messages": messages}).encode())
        messages.append({"role": "assistant", "content": "All right."})
    return bodies


async def _ask(client: httpx2.AsyncClient, url: str, bodies: list[bytes]) -> list[float | None]:
    """The seconds of each call in turn; None for one that was refused."""
    took: list[float | None] = []
    for body in bodies:
        began = time.monotonic()
        headers = {"Content-Type": "application/json"}
        answer = await client.post(f"{url}/chat/completions", content=body, headers=headers)
        took.append(time.monotonic() - began if answer.status_code == 200 else None)
    return took


def _at(ordered: list[float], share: float) -> str:
    return f"{1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]:,.0f} ms" if ordered else "none"


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """A model that reads a call and answers the same at once; it parses and counts nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
                await reader.readexactly(int(fields.get(b"content-length", b"0")))
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)
                )
                writer.write(ANSWER)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


if __name__ == "__main__":
    main()
