"""How long things take, on machines that do other things meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any


def cpu_seconds(work: Callable[[], Any], *, rounds: int = 1) -> float:
    """Seconds of CPU, the least of some rounds: what else runs shares the processor and its caches."""

    def once() -> float:
        began = process_time()
        work()
        return process_time() - began

    return min(once() for _ in range(rounds))
