"""What a turn costs in a short and in a very long conversation, on both databases: `benchmarks.context`."""

from __future__ import annotations

from benchmarks.load.place import DATABASES, place


def main() -> None:
    for database in DATABASES:
        print(f"\n{database}", flush=True)
        with place(database) as site:
            print(site.run("benchmarks.context", misses_allowed=True), end="", flush=True)


if __name__ == "__main__":
    main()
