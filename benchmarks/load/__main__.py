"""`python -m benchmarks.load [PART …]`: the named parts (streams, sockets, storm, …, soak), or all of them but soak."""

from __future__ import annotations

import resource
import sys

from benchmarks.goals import end
from benchmarks.load import calls, messages, requests, soak, sockets, storm, streams, turns

PARTS = {
    part.__name__.rpartition(".")[2]: part.main
    for part in (streams, sockets, storm, requests, messages, turns, calls, soak)
}
HOURS = {"soak"}
"""The parts that take hours; `make torture` runs them."""


def main() -> None:
    asked = sys.argv[1:] or [name for name in PARTS if name not in HOURS]
    if unknown := set(asked) - set(PARTS):
        sys.exit(f"{', '.join(sorted(unknown))}: there is {', '.join(PARTS)}.")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # every process of it inherits that
    for name in asked:
        PARTS[name]()
    end()


if __name__ == "__main__":
    main()
