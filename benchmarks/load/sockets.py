"""Sockets that are held open and hear nothing: how many, and the memory that the server needs for each."""

from __future__ import annotations

import time

from benchmarks.goals import held, note, sized
from benchmarks.load.figures import row, table
from benchmarks.load.place import DATABASES, place

SOCKETS = sized(5_000, small=60)
KB_EACH = 40


def main() -> None:
    table("server", "sockets", "opened in", "before", "with them", "each", "generator CPU")
    for database in DATABASES:
        hold(database)


def hold(database: str) -> None:
    with place(database) as site, site.server("web") as server, site.pages() as first, site.pages() as second:
        filled = site.fill(SOCKETS)
        opening = {"do": "open", "port": server.port, "cookie": filled.cookie}
        first.ask(**opening, ids=filled.conversations[:20])  # what the first ones load is not theirs
        before, began = server.memory, time.monotonic()
        first.tell(**opening, ids=filled.conversations[20 : SOCKETS // 2])
        second.tell(**opening, ids=filled.conversations[SOCKETS // 2 :])
        for pages in (first, second):
            pages.answer()
        took = time.monotonic() - began
        time.sleep(1)
        after = server.memory
        held_open = sum(pages.ask(do="heard")["open"] for pages in (first, second))
        row(
            database,
            f"{held_open:,}" + note(held_open == SOCKETS, f"{database}: {held_open:,} of {SOCKETS:,} sockets are open"),
            f"{took:.0f} s",
            f"{before / 1e6:.0f} MB",
            f"{after / 1e6:.0f} MB",
            held((after - before) / 1e3 / (SOCKETS - 20), KB_EACH, "{:.0f} KB", what=f"{database}, memory of a socket"),
            f"{first.cpu + second.cpu:.0f} s",
        )


if __name__ == "__main__":
    main()
