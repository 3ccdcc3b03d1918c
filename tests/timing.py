"""How long things take, on machines that do other things meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time
from typing import Any


def cpu_seconds(work: Callable[[], Any], *, rounds: int = 1) -> float:
    """Seconds of CPU, the least of some rounds: what else runs shares the processor and its caches.

    The garbage collector rests meanwhile: its time grows with the objects of all tests in the process.
    """

    def once() -> float:
        gc.disable()
        try:
            began = process_time()
            work()
            return process_time() - began
        finally:
            gc.enable()

    return min(once() for _ in range(rounds))
