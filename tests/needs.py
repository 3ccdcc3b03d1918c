"""The programs that tests need besides Python: where each is found, how it is installed, and a list of what is absent.

`python -m tests.needs install` installs what is absent, where that needs no password, and never fails.
`python -m tests.needs report` lists what is absent, and what was not tested for it.
`python -m tests.needs require redis postgresql` fails with that list unless all of those are there.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

APT_WAITS = ("-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20")
QUIET = {"DEBIAN_FRONTEND": "noninteractive"}


@dataclass(frozen=True)
class Need:
    """A program, Debian's package of it, and the tests that are skipped without it."""

    name: str
    package: str
    find: Callable[[], Path | None]
    """Where the program is; None where it is absent."""
    untested: str
    other_package: str = ""
    """A package to install where the first one cannot be."""

    @property
    def reason(self) -> str:
        """Why a test is skipped."""
        return f"NOT TESTED: {self.name} is not installed; install the package {self.package}"

    @property
    def line(self) -> str:
        return f"  {self.name}: {self.untested} (apt-get install {self.package})"


def find_redis() -> Path | None:
    return _on_path("redis-server")


def find_chromium() -> Path | None:
    """chromium-headless-shell, in which the journeys take a quarter less time; else chromium."""
    return _on_path("chromium-headless-shell") or _on_path("chromium")


def find_postgresql() -> Path | None:
    """The folder of the programs of the newest PostgreSQL; root needs the user that its package makes, too."""
    if os.geteuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        return None
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin/initdb") if os.access(path, os.X_OK)]
    return max(found, key=lambda path: float(path.parts[-3])).parent if found else None


def _on_path(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found) if found else None


REDIS = Need("redis", "redis-server", find_redis, "sites of several processes, their broker, what they tell each other")
CHROMIUM = Need("chromium", "chromium-headless-shell", find_chromium, "the pages in a browser", "chromium")
POSTGRESQL = Need(
    "postgresql", "postgresql", find_postgresql, "everything on PostgreSQL, and sites of several processes"
)
NEEDS = {need.name: need for need in (REDIS, CHROMIUM, POSTGRESQL)}


def absent() -> list[Need]:
    return [need for need in NEEDS.values() if need.find() is None]


def found_or_skip(need: Need) -> Path:
    """Where the program is; the running test is skipped where it is absent."""
    found = need.find()
    if found is None:
        pytest.skip(need.reason)
    return found


def install() -> None:
    """Install what is absent by apt-get, where this needs no password; say in one line why not otherwise."""
    needs = absent()
    packages = [need.package for need in needs]
    if not needs:
        return
    apt = _apt()
    if apt is None:
        print(f"{', '.join(packages)}: not installed, as that needs apt-get, and root or sudo without a password.")
        return
    print(f"Installing {', '.join(packages)} ...", flush=True)
    _run([*apt, *APT_WAITS, "update", "-qq"])
    for need in needs:  # one that cannot be installed does not cost the others
        for package in filter(None, (need.package, need.other_package)):
            said = _run([*apt, *APT_WAITS, "install", "-y", "-qq", package])
            if not said:
                break
            print(f"{package}: apt-get could not install it: {said}", flush=True)


def _apt() -> list[str] | None:
    """The command that begins apt-get as root; None where there is none that asks nothing."""
    if not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return ["env", *(f"{name}={value}" for name, value in QUIET.items()), "apt-get"]
    allowed = shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    return ["sudo", "-n", *(f"{name}={value}" for name, value in QUIET.items()), "apt-get"] if allowed else None


def _run(command: list[str]) -> str:
    """Nothing where the command succeeds, else the last line that it prints."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return "" if done.returncode == 0 else lines[-1] if lines else f"exit code {done.returncode}"


def report(needs: list[Need]) -> str:
    """What was not tested, by the program that is absent."""
    if not needs:
        return ""
    return "\n".join(["NOT TESTED, because these are not installed:", *(need.line for need in needs)])


def require(names: list[str]) -> None:
    """End with the list of what a command cannot do without."""
    if missing := [NEEDS[name] for name in names if NEEDS[name].find() is None]:
        sys.exit(
            f"This needs {' and '.join(need.name for need in missing)}, which this machine does not have: "
            f"apt-get install {' '.join(need.package for need in missing)}"
        )


def main() -> None:
    match sys.argv[1:]:
        case ["install"]:
            install()
        case ["report"]:
            if said := report(absent()):
                print(said)
        case ["require", *names] if names and set(names) <= set(NEEDS):
            require(names)
        case _:
            _explain()


def _explain() -> NoReturn:
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
