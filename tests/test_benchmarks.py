"""Every benchmark works: its small form is carried out, and prints figures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.needs import CHROMIUM

ROOT = Path(__file__).parents[1]
ON_REAL_CONVERSATIONS = ("compaction", "stages", "retention", "memory", "ledger")
LOADS = (
    "load storm",
    "load sockets",
    "load streams",
    "load requests",
    "load messages",
    "load turns",
    "load calls",
    "load soak",
)
AT_THE_GATEWAY = ("gateway", "clients", "programs")
LONG = (
    *AT_THE_GATEWAY,
    *LOADS,
    *("compaction", "stages", "memory", "context", "live", "agents", "languages", "parts", "documents"),
    *("retention", "economy"),
)
"""Those that take longer than a test of `make test` may."""
SHORT = ("ledger", "artefacts")
BENCHMARKS = (*SHORT, *(pytest.param(one, marks=pytest.mark.long) for one in LONG))
FIGURE = re.compile(r"\d+(?:\.\d+)? (?:ms|s|%|MB|KB|KiB|µs)|\.\d{3}")


def small(command: str) -> subprocess.CompletedProcess[str]:
    module, *arguments = command.split()
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | {"BENCH": "small"}
    line = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.once
@pytest.mark.parametrize("command", BENCHMARKS)
def test_the_small_form_of_a_benchmark_ends_well_and_prints_figures(command: str) -> None:
    if command in ON_REAL_CONVERSATIONS and not DATA.exists():
        pytest.skip(f"{DATA} is not there: the real conversations are kept beside the checkout")
    if command == "programs" and not any(map(shutil.which, ("codex", "claude", "opencode"))):
        pytest.skip("none of the programs is here: npm install -g @openai/codex @anthropic-ai/claude-code opencode-ai")
    if command == "documents" and CHROMIUM.find() is None:
        pytest.skip("Chromium is not here: it prints the documents")
    done = small(command)
    assert done.returncode == 0, done.stderr
    assert FIGURE.search(done.stdout), done.stdout
    assert "Traceback" not in done.stderr
    if command == "load storm":
        assert done.stdout.count("10 of 10") == 1, done.stdout


@pytest.mark.once
@pytest.mark.parametrize(("form", "status"), [("whole", 1), ("small", 0)])
def test_a_goal_that_is_missed_is_named_at_the_end(form: str, status: int) -> None:
    program = (
        "from benchmarks.goals import end, held, note\n"
        "print(held(1.5, 1.2, '{:.1f} s', what='the last page'), held(1, 2, '{:d} KB', what='a socket'))\n"
        "note(False, 'ten of eleven')\n"
        "end()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"BENCH": form}, capture_output=True, text=True
    )
    assert done.returncode == status
    whole = ["Missed: the last page: 1.5 s, not 1.2 s", "Missed: ten of eleven"]
    assert done.stderr.splitlines() == (whole if status else [])
    assert done.stdout == ("1.5 s (missed) 1 KB\n" if status else "1.5 s 1 KB\n")
