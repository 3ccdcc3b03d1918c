"""A site under torture: its processes are killed, paused and cut off from each other while people talk.

python -m tests.torture --database postgres --kills 250 --rounds 50 --stops 25 --redis 20 --seed 1
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.needs import require
from tests.torture.fleet import LEASE_SECONDS, fleet
from tests.torture.people import Model, Tally

SCENARIOS = {"kills": 250, "rounds": 50, "stops": 25, "redis": 20, "duplicates": 10, "stages": 5}
"""How often each thing is done, unless it is said otherwise."""
DATABASES = ("sqlite", "postgres")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", choices=DATABASES, help="default: both, one after the other")
    parser.add_argument("--seed", type=int, default=1)
    for name, count in SCENARIOS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    if options.database != "sqlite":
        require(["postgresql", "redis"])
    if options.database is None:
        runs = [[sys.executable, "-m", "tests.torture", *sys.argv[1:], "--database", name] for name in DATABASES]
        sys.exit(max(subprocess.run(run).returncode for run in runs))
    with tempfile.TemporaryDirectory(prefix="chatsite-torture-") as folder:
        sys.exit(torture(options, Path(folder)))


def torture(options: argparse.Namespace, folder: Path) -> int:
    """How many things went wrong."""
    with Model() as model, fleet(options.database, folder, llm_url=model.url) as site:
        configure(site)
        from tests.torture import checks, scenarios, wires

        tortured = scenarios.Torture(site, model, Random(options.seed), Tally())
        acts: dict[str, Callable[..., Any]] = {
            "kills": scenarios.kills,
            "rounds": scenarios.races,
            "stops": scenarios.stops,
            "redis": wires.redis_restarts,
            "duplicates": wires.duplicates,
            "stages": wires.sends_while_compressing,
        }
        print(f"{options.database}, seed {options.seed}, leases of {LEASE_SECONDS} s", flush=True)
        for name, act in acts.items():
            if count := getattr(options, name):
                began = time.monotonic()
                done = act(tortured, count)
                tell(f"{name} ({time.monotonic() - began:.0f} s)", done)
        violations = checks.check(tortured.tally, model)
        tell("people", tortured.tally.counts | {"requests to the model": len(model.received)})
        for complaint in tortured.tally.complaints:
            print("VIOLATION", complaint)
        unexplained = [f"{name}: {found}" for name, log in site.logs().items() for found in checks.tracebacks(log)]
        print(*unexplained, sep="\n")
        print(f"violations: {violations.total()}; tracebacks that nothing explains: {len(unexplained)}")
        return violations.total() + len(tortured.tally.complaints) + len(unexplained)


def tell(title: str, counts: dict[str, int]) -> None:
    print(title)
    for what, number in counts.items():
        print(f"  {number:7,}  {what}", flush=True)


def configure(site: Any) -> None:
    """This process looks at the site's rows, and can ask its broker."""
    import django

    os.environ |= site.environment
    django.setup()
    import chatsite.celery  # noqa: F401 - what this process enqueues goes the same way


if __name__ == "__main__":
    main()
