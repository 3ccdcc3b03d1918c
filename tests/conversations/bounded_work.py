"""Work for a process with limits, good and bad."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from conversations.errors import Invalid


def work(asked: str) -> object:
    match asked:
        case "pid":
            return os.getpid()
        case "three":
            return _three()
        case "a pattern":
            return re.match(r"(a+)+$", "a" * 60 + "b")
        case "a gigabyte":
            return len(bytearray(1_000_000_000))
        case "refuse":
            raise Invalid("file: no.", field="file")
        case "print":
            print("something")
            sys.stdout.flush()
            return "said"
        case "exit":
            os._exit(3)
        case _:
            raise KeyError(asked)


def _three() -> Iterator[int]:
    yield from (1, 2, 3)
