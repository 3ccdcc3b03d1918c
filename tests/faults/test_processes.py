"""The torture of a whole site in short: `make torture` does the same for minutes, on SQLite too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.journeys.site import ROOT
from tests.needs import POSTGRESQL, REDIS, found_or_skip

SHORT = "--kills 2 --rounds 1 --stops 1 --redis 1 --duplicates 0 --stages 0"


@pytest.mark.long
def test_nothing_is_lost_or_stuck_whatever_dies() -> None:
    for need in (POSTGRESQL, REDIS):
        found_or_skip(need)
    command = [sys.executable, "-m", "tests.torture", "--database", "postgres", *SHORT.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
