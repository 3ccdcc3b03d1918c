"""A second try is for tests that start processes, and the last line of a run tells of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.site import ROOT

pytestmark = pytest.mark.once

TESTS = """
from tests.second_tries import starts_processes, tell

tries = []

class Site:
    pass

def begun():
    return Site()

def test_a_site(): # {kind}
    tries.append(1)
    {line}
    assert len(tries) > 1
"""
CONFTEST = """
import pytest
from tests import second_tries

def pytest_collection_modifyitems(items):
    for item in items:
        if second_tries.starts_processes(item):
            item.add_marker(pytest.mark.flaky(reruns=1))

@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    second_tries.tell(config)
"""


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_one.py").write_text(TESTS.format(kind="site", line=line))
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:django", str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("line", ["Site()", "begun()"])
def test_a_test_that_starts_processes_has_a_second_try_and_the_last_line_names_it(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().splitlines()[-1] == "1 test needed a second try: test_one.py::test_a_site"


def test_every_other_test_has_one_try(tmp_path: Path) -> None:
    done = run(tmp_path, "pass")
    assert done.returncode == 1
    assert "second try" not in done.stdout


def test_a_run_without_a_second_try_says_nothing_of_it(tmp_path: Path) -> None:
    assert "second try" not in run(tmp_path, "tries.append(Site())").stdout
