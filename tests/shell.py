"""A shell of a site: `python -m tests.shell` runs programs in the site's environment, each in a fork of its own.

`manage.py shell` takes more than a second for its imports each time. Programs come as lines of JSON on standard input;
each is answered by a line of JSON: what it printed, or the traceback of what it raised.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
from contextlib import redirect_stdout

from tests.journeys.site import ROOT


class Shell:
    """Runs programs with the settings of a site's environment, until it is closed."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", __name__]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, code: str) -> str:
        """What the program prints; an AssertionError with its traceback if it fails."""
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "printed" in answer, answer["traceback"]
        return str(answer["printed"])

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _answer(code: str) -> dict[str, str]:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(code, "<program>", "exec"), {"__name__": "__console__"})
    except BaseException:
        return {"traceback": traceback.format_exc()}
    return {"printed": printed.getvalue()}


def main() -> None:
    import django

    django.setup()
    for line in sys.stdin:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        print(json.dumps(_answer(json.loads(line))), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
