"""Whether a process is well, found out at next to no cost: `python -m chatsite.alive FILE` or `… http://ADDRESS`.

A file is well that was touched lately: workers and the clock touch ALIVE_FILE whenever they have reached their broker.
An address is well that answers with 200. The exit code says which, and a line why not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

FRESH_SECONDS = 30
ANSWERS_WITHIN = 5
"""Seconds."""


def touch(file: str) -> None:
    if file:
        Path(file).touch()


def fault(target: str) -> str:
    """What is wrong with a file or an address; empty where all is well."""
    try:
        return _fault_of_address(target) if target.startswith("http") else _fault_of_file(Path(target))
    except OSError as error:
        return f"{target}: {error}"


def _fault_of_file(file: Path) -> str:
    seconds = time.time() - file.stat().st_mtime
    return f"{file}: touched {seconds:.0f} s ago" if seconds > FRESH_SECONDS else ""


def _fault_of_address(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=ANSWERS_WITHIN) as answer:
        return "" if answer.status == 200 else f"{url}: {answer.status}"


if __name__ == "__main__":
    sys.exit(fault(sys.argv[1]) or 0)
