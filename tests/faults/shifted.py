"""The site with a clock that can be set: `python -m tests.faults.shifted serve …`.

The file CLOCK has the seconds that it is ahead.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

from django.utils import timezone

FILE = Path(os.environ["CLOCK"])
now, seconds, nanoseconds = timezone.now, time.time, time.time_ns


def ahead() -> int:
    return int(FILE.read_text() or 0)


def _now() -> datetime:
    return now() + timedelta(seconds=ahead())


if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    timezone.now = _now
    time.time = lambda: seconds() + ahead()
    time.time_ns = lambda: nanoseconds() + ahead() * 10**9
    execute_from_command_line(sys.argv)
