"""Pages that lose their server and find it again, as htmx and `static/thread.js` do it.

A page opens its socket anew after a random part of 1, 2, 4, … 64 seconds. When the socket opens or closes it fetches
what has changed since the version that it shows, and again where the site was busy; what it asks for while it still
waits for an answer is asked after it.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import re
import time
from itertools import cycle
from typing import Any, NamedTuple

from benchmarks.load.figures import spread
from benchmarks.load.page_socket import Heard, Socket, head, opened

FETCH = "GET /c/{id}/thread?version={{version}} HTTP/1.1\r\nHX-Request: true\r\nConnection: close\r\n"
VERSION = re.compile(rb'name="version" value="([^"]*)"')
RETRY_AFTER = 5
"""Seconds, as a site that is busy says it."""
PATIENCE = 60
"""Seconds until a page that has not come back is given up."""


class Answer(NamedTuple):
    """`status` "": the server was not there."""

    status: str
    seconds: float


def unpacked(answer: bytes) -> bytes:
    """The body of an answer, as a browser shows it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return gzip.decompress(body) if b"\r\ncontent-encoding: gzip" in head.lower() else body


class Page:
    def __init__(self, **where: Any) -> None:
        self.where = where
        self.version = ""
        self.shown = b""
        self.socket: Socket | None = None
        self.answers: list[Answer] = []

    async def open(self) -> None:
        self.socket = await opened(**self.where, heard=Heard())
        await self.fetch()

    async def come_back(self, awaited: bytes) -> float:
        """Until the socket is open and what was stored meanwhile is shown; gives the moment."""
        assert self.socket
        await self.socket.closed
        await self.fetch()
        for attempt in range(1_000):
            await asyncio.sleep(random.random() * 2 ** min(attempt, 6))
            try:
                await self.open()
            except OSError:
                await self.fetch()
                continue
            if awaited in self.shown and not self.socket.closed.done():
                return time.monotonic()
            await self.socket.closed
        raise TimeoutError

    async def fetch(self) -> None:
        """What has changed; nothing where the server is not there."""
        where = {name: self.where[name] for name in ("port", "cookie", "id")}
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", where["port"])
            writer.write(head(FETCH, **where).replace(b"{version}", self.version.encode()))
            answer = await reader.read()
            writer.close()
        except OSError:
            answer = b""
        status, answer = answer[9:12].decode(), unpacked(answer)
        self.answers.append(Answer(status, time.monotonic() - began))
        if status == "503":
            await asyncio.sleep(RETRY_AFTER * (1 + random.random()))
            await self.fetch()
        if status == "200":
            self.shown = answer
            if found := VERSION.search(answer):
                self.version = found[1].decode()


class Storm:
    def __init__(self, *, ports: list[int], cookie: str, ids: list[str]) -> None:
        self.pages = [Page(port=port, cookie=cookie, id=id) for port, id in zip(cycle(ports), ids, strict=False)]

    async def open(self) -> None:
        gate = asyncio.Semaphore(20)

        async def one(page: Page) -> None:
            async with gate:
                await page.open()

        await asyncio.gather(*map(one, self.pages))

    async def come_back(self, awaited: str) -> dict[str, Any]:
        for page in self.pages:
            page.answers.clear()
        coming = [asyncio.create_task(page.come_back(awaited.encode())) for page in self.pages]
        done, late = await asyncio.wait(coming, timeout=PATIENCE)
        for task in late:
            task.cancel()
        answers = [answer for page in self.pages for answer in page.answers]
        slow = [answer.seconds for answer in answers if answer.status == "200"]
        return {
            "moments": sorted(task.result() for task in done),
            "late": len(late),
            "refused": sum(answer.status not in ("200", "204", "") for answer in answers),
            "fetch": spread(slow),
        }
