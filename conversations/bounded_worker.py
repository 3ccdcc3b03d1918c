"""A process that reads what others have written, and that the kernel ends where it takes too long or too much memory.

`python -m conversations.bounded_worker MODULE MEGABYTES`: MODULE has `work(argument)`, which answers with a value, or
yields several. Questions come in by standard input and answers go out by standard output, as pickles with their length
before them. It ends with its standard input.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from types import GeneratorType
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
POLITENESS = 10
"""How far it stands back behind the process that serves people."""
ITEM, DONE, REFUSED, MEMORY, FAILED = "item", "done", "refused", "memory", "failed"
is_here = False
"""Whether this process is one of them."""


def main(module: str, megabytes: int) -> None:
    global is_here
    is_here = True
    sys.modules["conversations.bounded_worker"] = sys.modules[__name__]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: whoever started it ends it
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(POLITENESS)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    work = import_module(module).work
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
    while header := questions.read(LENGTH.size):
        seconds, argument = pickle.loads(questions.read(*LENGTH.unpack(header)))
        # Seconds of CPU, whoever has the processor meanwhile; what is in the middle of a regular expression ends too.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        _answer(answers, work, argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del argument


def told(file: BinaryIO, value: object) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _answer(answers: BinaryIO, work: Callable[[Any], Any], argument: object) -> None:
    from conversations.errors import Refused

    try:
        found = work(argument)
        for item in found if isinstance(found, GeneratorType) else (found,):
            told(answers, (ITEM, item))
        last: tuple[str, object] = (DONE, None)
    except Refused as refusal:
        last = (REFUSED, refusal)
    except MemoryError:
        last = (MEMORY, None)
    except Exception as error:
        last = (FAILED, f"{type(error).__name__}: {error}"[:500])
    told(answers, last)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
