"""A server is killed and begun anew: until every page has its socket again and shows a message it was not told of."""

from __future__ import annotations

import time

from benchmarks.goals import held, note, sized
from benchmarks.load.figures import row, spread, table
from benchmarks.load.place import DATABASES, place

PAGES, MESSAGES = sized(1_000, small=10), 20
AWAITED = "Stored, and told to nobody."
WITHIN = 20
"""Seconds from the kill until the last page has come back."""


def main() -> None:
    table("server killed", "pages back", "listens", "median page", "p99", "last page", "fetches refused",
          "fetch, p50 / p99", "server CPU", "generator CPU")  # fmt: skip
    for database in DATABASES:
        storm(database)


def storm(database: str) -> None:
    with place(database) as site, site.pages() as pages:
        filled = site.fill(PAGES, messages=MESSAGES)
        with site.server("web") as server:
            pages.ask(do="browse", port=server.port, cookie=filled.cookie, ids=filled.conversations)
            site.run("benchmarks.load.rows", "again", AWAITED)  # nobody is told: the pages have to find out
            generator = pages.cpu
            pages.tell(do="come_back", awaited=AWAITED)
            time.sleep(0.5)
            began = time.monotonic()
            server.kill()
            server.start()
            server.ready()
            listens = time.monotonic() - began
            back = pages.answer()
            used, generator = server.cpu, pages.cpu - generator
    took = [moment - began for moment in back["moments"]]
    middle, slow = spread(took)
    row(
        database,
        f"{len(took):,} of {PAGES:,}" + note(not back["late"], f"{database}: {back['late']} pages have not come back"),
        f"{listens:.1f} s",
        f"{middle:.1f} s",
        f"{slow:.1f} s",
        held(took[-1], WITHIN, "{:.1f} s", what=f"{database}, the last page back") if took else "none",
        f"{back['refused']:,}",
        "{:.2f} / {:.2f} s".format(*back["fetch"]),
        f"{used:.0f} s",
        f"{generator:.0f} s",
    )


if __name__ == "__main__":
    main()
