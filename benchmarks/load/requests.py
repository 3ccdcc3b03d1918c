"""What pages cost that are opened, and those that are open and ask for news of other chats: CPU a request."""

from __future__ import annotations

import re
from urllib.request import Request, urlopen

from benchmarks.goals import sized
from benchmarks.load.figures import row, table
from benchmarks.load.place import DATABASES, Place, place

CHATS, MESSAGES = sized(60, small=6), 20
TIMES = sized(200, small=4)


def main() -> None:
    table("CPU a request, without the database's", "the start page", "a chat", "news, where there is none")
    for database in DATABASES:
        with place(database) as site:
            measure(database, site)


def measure(database: str, site: Place) -> None:
    filled = site.fill(CHATS, messages=MESSAGES)
    with site.server("web") as server:
        address = f"http://127.0.0.1:{server.port}"
        token = "t" * 32
        cookies = {"Cookie": f"csrftoken={token}; sessionid={filled.cookie}"}

        def asked(path: str, body: bytes | None = None) -> str:
            with urlopen(Request(address + path, body, cookies)) as answer:
                return str(answer.read().decode())

        def cost(path: str, body: bytes | None = None) -> str:
            for _ in range(TIMES // 10 + 1):
                asked(path, body)
            before = server.cpu
            for _ in range(TIMES):
                asked(path, body)
            return f"{(server.cpu - before) / TIMES * 1000:.1f} ms"

        home, chat = "/", f"/c/{filled.conversations[0]}/"
        stamp = re.search(r'data-stamp="([^"]*)"', asked(home))
        news = f"csrfmiddlewaretoken={token}&stamp={stamp[1] if stamp else ''}".encode()
        row(database, cost(home), cost(chat), cost("/activity", news))


if __name__ == "__main__":
    main()
