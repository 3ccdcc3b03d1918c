"""What an ordinary account can send to freeze a site, sent to a real one while `/healthz` is asked every 20 ms.

python -m tests.torture.attacks [--only NAME] [--list]

Further attacks are functions with `@attack(…)` in modules that MODULES names.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.faults.serving import Served, serving
from tests.torture.bare import bare
from tests.torture.pulse import Pulse

MOST = 200.0
"""Milliseconds that an answer of `/healthz` may take, whatever goes on."""
MODULES = ("tests.torture.heavy_texts",)
ATTACKS: dict[str, Attack] = {}


@dataclass
class Ground:
    """A site under attack, and what its answers were."""

    served: Served
    answers: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)

    def send(
        self, method: str, path: str, body: bytes | None = None, *, kind: str = "application/json", **headers: str
    ) -> bytes:
        """Alice's request, by her key, or on the page by her cookie; its answer is counted, refused or not."""
        is_page = not path.startswith("/api/")
        who = {"Cookie": self.served.cookie} if is_page else {"Authorization": f"Bearer {self.served.key}"}
        given = {"Content-Type": kind} | who | {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.served.site.url + path, body, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                data: bytes = answer.read()
                self.answers[str(answer.status)] += 1
                return data
        except urllib.error.HTTPError as refusal:
            data = refusal.read()
            self.answers[str(refusal.code)] += 1
            if data.startswith(b"{"):
                self.said[json.loads(data).get("error", {}).get("message", "")] += 1
            return data
        except OSError as error:
            self.answers[type(error).__name__] += 1
            return b""

    def ask(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self.send(method, path, None if body is None else json.dumps(body).encode()))

    def at_once(self, count: int, act: Callable[[int], Any]) -> None:
        with ThreadPoolExecutor(count) as threads:
            list(threads.map(act, range(count)))


@dataclass(frozen=True)
class Attack:
    """`prepare` makes what `act` is given; only what `act` does is measured."""

    name: str
    act: Callable[[Ground, Any], None]
    prepare: Callable[[Ground], Any]
    is_short: bool
    """Whether `make test` runs it."""


@dataclass(frozen=True)
class Outcome:
    name: str
    seconds: float
    worst: float
    beside: float
    """The worst of a server that does nothing, at the same time: what the machine itself has anyone wait."""
    usual: float
    failures: int
    answers: str
    said: str
    megabytes: float

    @property
    def is_held(self) -> bool:
        return self.worst <= MOST and not self.failures


def attack(
    name: str, *, prepare: Callable[[Ground], Any] = lambda ground: None, is_short: bool = False
) -> Callable[[Callable[[Ground, Any], None]], Callable[[Ground, Any], None]]:
    """Registers a function as an attack of that name."""

    def registered(act: Callable[[Ground, Any], None]) -> Callable[[Ground, Any], None]:
        # Run as a program, this module is another than the one that is imported.
        import_module("tests.torture.attacks").ATTACKS[name] = Attack(name, act, prepare, is_short)
        return act

    return registered


def registry() -> dict[str, Attack]:
    for module in MODULES:
        import_module(module)
    found: dict[str, Attack] = import_module("tests.torture.attacks").ATTACKS
    return found


def run(ground: Ground, one: Attack) -> Outcome:
    prepared = one.prepare(ground)
    ground.send("GET", "/api/models")
    ground.answers.clear()
    ground.said.clear()
    began = time.monotonic()
    with bare() as port, Pulse(port) as beside, Pulse(ground.served.site.port) as pulse:
        time.sleep(0.2)
        one.act(ground, prepared)
        time.sleep(0.2)
    seconds = time.monotonic() - began
    answers = ", ".join(f"{times} x {answer}" for answer, times in ground.answers.most_common())
    said = ground.said.most_common(1)[0][0] if ground.said else ""
    megabytes = ground.served.memory / 1_000_000
    return Outcome(one.name, seconds, pulse.worst, beside.worst, pulse.usual, pulse.failures, answers, said, megabytes)


@contextmanager
def ground() -> Iterator[Ground]:
    with (
        tempfile.TemporaryDirectory(prefix="chatsite-attacks-") as folder,
        serving(Path(folder), may_fail=True) as served,
    ):
        yield Ground(served)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="attacks whose names have this in them")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [one for one in registry().values() if (options.only or "") in one.name]
    if options.list:
        print(*(one.name for one in chosen), sep="\n")
        return
    outcomes = []
    with ground() as site:
        print(
            "| attack | seconds | worst /healthz, ms | of a bare server, ms | usual, ms | MB of the server | answers |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
        for one in chosen:
            found = run(site, one)
            outcomes.append(found)
            answers = found.answers + (f": {found.said[:90]}" if found.said else "")
            print(
                f"| {found.name} | {found.seconds:.1f} | {found.worst:.0f} | {found.beside:.0f} | {found.usual:.0f} "
                f"| {found.megabytes:.0f} | {answers} |",
                flush=True,
            )
    late = [found.name for found in outcomes if not found.is_held]
    print(f"{len(outcomes) - len(late)} of {len(outcomes)} held" + (f"; not: {', '.join(late)}" if late else ""))
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
