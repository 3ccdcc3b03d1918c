"""Programs that tests need and that are absent: installed where that is possible, else told once, without a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs
from tests.journeys.site import ROOT

pytestmark = pytest.mark.once

APT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *install*) {install} ;; esac
"""


def machine(folder: Path, **programs: str) -> dict[str, str]:
    """The environment of a machine that has these programs alone, beside sh and env."""
    for name in ("sh", "env"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return os.environ | {"PATH": str(folder)}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.needs", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def apt(folder: Path, install: str) -> str:
    return APT.format(log=folder / "asked", install=install)


def test_what_is_absent_is_listed_once_with_what_is_untested_and_how_to_install_it(tmp_path: Path) -> None:
    done = run(machine(tmp_path), "report")
    assert done.returncode == 0
    first, *lines = done.stdout.strip().splitlines()
    assert first.startswith("NOT TESTED")
    for need in (needs.REDIS, needs.CHROMIUM):
        [line] = [line for line in lines if line.strip().startswith(f"{need.name}:")]
        assert need.untested in line and f"apt-get install {need.package}" in line


def test_without_apt_or_without_rights_nothing_is_asked_and_nothing_fails(tmp_path: Path) -> None:
    done = run(machine(tmp_path), "install")
    assert (done.returncode, done.stderr) == (0, "")
    assert "redis-server, chromium" in done.stdout and "not installed" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="whoever is not root asks sudo")
@pytest.mark.parametrize("package", [needs.CHROMIUM.package, needs.CHROMIUM.other_package])
def test_what_is_absent_is_installed_by_apt_and_what_cannot_be_costs_no_other(tmp_path: Path, package: str) -> None:
    environment = machine(tmp_path)
    (tmp_path / "apt-get").write_text(
        apt(tmp_path, f'case "$*" in *" {package}") : > {tmp_path}/chromium; /bin/chmod 755 {tmp_path}/chromium ;; '
                      '*) echo "E: Unable to fetch some archives" >&2; exit 100 ;; esac')
    )  # fmt: skip
    (tmp_path / "apt-get").chmod(0o755)
    done = run(environment, "install")
    assert (done.returncode, done.stderr) == (0, "")
    assert "redis-server: apt-get could not install it: E: Unable to fetch some archives" in done.stdout
    assert f"{package}: apt-get could not" not in done.stdout
    said = run(environment, "report").stdout
    assert "redis:" in said and "chromium:" not in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no sudo")
def test_sudo_is_never_asked_for_a_password(tmp_path: Path) -> None:
    refuses = f'#!/bin/sh\necho "$@" >> {tmp_path}/sudo-asked\nexit 1\n'
    done = run(machine(tmp_path, sudo=refuses, **{"apt-get": apt(tmp_path, ":")}), "install")
    assert done.returncode == 0
    assert (tmp_path / "sudo-asked").read_text().startswith("-n ")


def test_a_command_that_cannot_do_without_a_program_ends_with_its_name(tmp_path: Path) -> None:
    done = run(machine(tmp_path), "require", "redis")
    assert done.returncode != 0
    assert done.stderr.strip() == (
        "This needs redis, which this machine does not have: apt-get install redis-server"
    )  # fmt: skip


TESTS_OF = {
    "redis": "tests/conversations/runtime/test_relay.py",
    "chromium": "tests/journeys/test_keys.py",
}


@pytest.mark.long
@pytest.mark.parametrize("name", TESTS_OF)
def test_what_needs_an_absent_program_is_skipped_with_one_reason(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", TESTS_OF[name]]
    done = subprocess.run(command, cwd=ROOT, env=machine(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert needs.NEEDS[name].reason in done.stdout
    assert "passed" not in done.stdout.splitlines()[-1] and "failed" not in done.stdout


@pytest.mark.long
def test_the_whole_torture_is_skipped_in_process_without_redis(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "tests/faults/test_processes.py",
    ]
    done = subprocess.run(command, cwd=ROOT, env=machine(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout


def test_what_make_starts_keeps_what_it_has_compiled() -> None:
    """A hundred processes of a test run compile everything again otherwise."""
    shown = subprocess.run(
        ["make", "--no-print-directory", "--eval", "shown:;@env", "shown"], cwd=ROOT, text=True, check=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert "PYTHONDONTWRITEBYTECODE" not in shown.stdout
