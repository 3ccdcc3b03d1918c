"""The load: a process of open pages, as cheap as it can be, because it shares the machine with what it measures.

Asked in lines of JSON: `open` sockets and keep them, tell what was `heard`, or `browse` and `come_back`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

from benchmarks.load.figures import spread
from benchmarks.load.page_socket import Heard, Socket, opened
from benchmarks.load.returning import Storm

AT_ONCE = 50
"""Sockets that are opened at the same time."""


class Pages:
    def __init__(self) -> None:
        self.heard = Heard()
        self.sockets: list[Socket] = []

    async def open(self, *, port: int, cookie: str, ids: list[str]) -> dict[str, Any]:
        began, gate = time.monotonic(), asyncio.Semaphore(AT_ONCE)

        async def one(id: str) -> None:
            async with gate:
                self.sockets.append(await opened(port=port, cookie=cookie, id=id, heard=self.heard))

        await asyncio.gather(*map(one, ids))
        return {"open": len(self.sockets), "seconds": time.monotonic() - began}

    async def tell_heard(self) -> dict[str, Any]:
        """What was heard since it was last asked for; and how many are still open."""
        heard, self.heard = self.heard, Heard()
        still = [socket for socket in self.sockets if not socket.closed.done()]
        for socket in still:
            socket.heard = self.heard
        return {"frames": heard.frames, "tokens": heard.tokens, "others": heard.others, "open": len(still),
                "late": spread(heard.late) if heard.late else None}  # fmt: skip

    async def browse(self, **told: Any) -> dict[str, Any]:
        """Pages that come back by themselves when their server is lost."""
        self.storm = Storm(**told)
        await self.storm.open()
        return {"open": len(self.storm.pages)}

    async def come_back(self, awaited: str) -> dict[str, Any]:
        return await self.storm.come_back(awaited)


async def main() -> None:
    pages = Pages()
    answers = {"open": pages.open, "heard": pages.tell_heard, "browse": pages.browse, "come_back": pages.come_back}
    while line := await asyncio.to_thread(sys.stdin.readline):
        told = json.loads(line)
        print(json.dumps(await answers[told.pop("do")](**told)), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
