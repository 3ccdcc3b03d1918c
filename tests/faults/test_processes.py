"""The torture of whole sites in short: `make torture` does the same for minutes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.journeys.site import ROOT
from tests.servers import postgres_binaries

SHORT = {
    "sqlite": "--kills 4 --rounds 1 --stops 1",
    "postgres": "--kills 6 --rounds 1 --stops 2 --redis 1 --duplicates 0 --stages 0",
}


@pytest.mark.parametrize("database", SHORT)
def test_nothing_is_lost_or_stuck_whatever_dies(database: str) -> None:
    if database == "postgres" and postgres_binaries() is None:
        pytest.skip("NOT TESTED: no PostgreSQL binaries on this machine")
    command = [sys.executable, "-m", "tests.torture", "--database", database, *SHORT[database].split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
