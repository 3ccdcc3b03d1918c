"""A cheap health check of a process: `python -m chatsite.healthcheck FILE` or `… http://ADDRESS`.

A file is healthy if it was touched lately: workers and the clock touch ALIVE_FILE whenever they reach their broker. An
address is healthy if it answers with 200. The exit code is 0 then; otherwise a line says what is wrong.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

FRESH_SECONDS = 30
TIMEOUT_SECONDS = 5


def touch(file: str) -> None:
    """Mark the process as healthy; without a file, do nothing."""
    if file:
        Path(file).touch()


def fault(target: str) -> str:
    """The fault of a file or an address; "" if it is healthy."""
    try:
        return _fault_of_address(target) if target.startswith("http") else _fault_of_file(Path(target))
    except OSError as error:
        return f"{target}: {error}"


def _fault_of_file(file: Path) -> str:
    seconds = time.time() - file.stat().st_mtime
    return f"{file}: touched {seconds:.0f} s ago" if seconds > FRESH_SECONDS else ""


def _fault_of_address(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=TIMEOUT_SECONDS) as answer:
        return "" if answer.status == 200 else f"{url}: {answer.status}"


if __name__ == "__main__":
    sys.exit(fault(sys.argv[1]) or 0)
