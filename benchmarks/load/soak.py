"""Turn after turn in one process: what its memory grows by, long after its caches are full.

People talk at once over the API: each begins a conversation, says LENGTH things in it, opens its page now and then, and
deletes it. The window is small, so that each conversation is compacted several times. `TURNS` sets how many turns there
are in all; the memory after each tenth of them is held against that after the first.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

import httpx2

from benchmarks.goals import held, sized
from benchmarks.load.child import cpu, resident
from benchmarks.load.figures import row, table
from tests.furnishing import furnish
from tests.journeys.site import Site
from tests.llm_server import LlmServer

TURNS = int(os.environ.get("TURNS", sized(100_000, small=40)))
PEOPLE = sized(6, small=2)
LENGTH = sized(40, small=5)
"""Turns of a conversation."""
PARTS = sized(10, small=2)
MOST_GROWTH = 1.05
"""Of the memory after the first tenth."""


def main() -> None:
    table("turns", "conversations", "compactions", "turns/s", "memory", "of that after the first tenth", "CPU a turn")
    with tempfile.TemporaryDirectory(prefix="chatsite-soak-") as folder, LlmServer() as model:
        data = Path(folder)
        key, cookie = furnish(data)
        unlimited = dict.fromkeys(("API_REQUESTS_PER_MINUTE", "MAX_TURNS_PER_USER"), "1000000")
        with Site(data, llm_url=model.url, window=4_000, **unlimited) as site:
            soak = Soak(site, model, key, cookie)
            for number in range(1, PARTS + 1):
                soak.until(TURNS * number // PARTS)
                soak.tell()


class Soak:
    """People who talk to a site; `done` counts what they did."""

    def __init__(self, site: Site, model: LlmServer, key: str, cookie: str) -> None:
        self.site, self.model = site, model
        self.headers = {"Authorization": f"Bearer {key}"}
        self.cookies = {"Cookie": cookie}
        self.done: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.first = 0.0
        self.began, self.used, self.told = time.monotonic(), cpu(site.process.pid), 0

    def until(self, turns: int) -> None:
        people = [threading.Thread(target=self._talk, args=(turns, number)) for number in range(PEOPLE)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        self.model.clear()

    def _talk(self, turns: int, number: int) -> None:
        random = Random(f"{turns} {number}")
        with httpx2.Client(base_url=self.site.url, timeout=60) as client:
            while self.done["turns"] < turns:
                made = client.post("/api/conversations", json={}, headers=self.headers)
                id = made.raise_for_status().json()["id"]
                for turn in range(LENGTH):
                    content = (
                        f"Item {random.randrange(10**6)}: host-{random.randrange(10**4)} stays. " + "So it is. " * 20
                    )
                    path = f"/api/conversations/{id}/messages"
                    client.post(path, json={"content": content}, headers=self.headers).raise_for_status()
                    if turn % 10 == 0:
                        client.get(f"/c/{id}/", headers=self.cookies).raise_for_status()
                    self._count("turns")
                runs = client.get(f"/api/context/{id}/compactions", headers=self.headers).raise_for_status().json()
                self._count("compactions", len(runs["items"]))
                client.delete(f"/api/conversations/{id}", headers=self.headers).raise_for_status()
                self._count("conversations")

    def _count(self, what: str, number: int = 1) -> None:
        with self.lock:
            self.done[what] += number

    def tell(self) -> None:
        """Print one row: the figures up to now, and the speed since the last row."""
        now, used, memory = time.monotonic(), cpu(self.site.process.pid), resident(self.site.process.pid)
        turns = self.done["turns"] - self.told
        self.first = self.first or memory
        row(
            f"{self.done['turns']:,}",
            f"{self.done['conversations']:,}",
            f"{self.done['compactions']:,}",
            f"{turns / (now - self.began):.1f}",
            f"{memory / 1e6:.1f} MB",
            held(memory / self.first, MOST_GROWTH, "{:.3f}", what=f"memory after {self.done['turns']:,} turns"),
            f"{1000 * (used - self.used) / turns:.0f} ms",
        )
        self.began, self.used, self.told = now, used, self.done["turns"]


if __name__ == "__main__":
    main()
