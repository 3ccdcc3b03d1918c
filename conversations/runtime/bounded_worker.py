"""The worker process for untrusted input, with limits of CPU time and memory that the kernel enforces.

`python -m conversations.runtime.bounded_worker MODULE MEGABYTES`: MODULE has `work(argument)`, which returns a value or
yields several. Jobs arrive on standard input and answers leave on standard output, as pickles preceded by their length.
The process ends when its standard input is closed.
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

from django.conf import settings

LENGTH = struct.Struct(">Q")
NICENESS = 10
"""The niceness of the worker, so that the server's process gets the CPU first."""
ITEM, DONE, REFUSED, MEMORY, FAILED = "item", "done", "refused", "memory", "failed"
is_here = False
"""Whether this process is a worker."""


def main(module: str, megabytes: int) -> None:
    """Do the jobs that arrive on standard input with the module's `work`."""
    global is_here
    is_here = True
    sys.modules["conversations.runtime.bounded_worker"] = sys.modules[__name__]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends this process
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(NICENESS)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's prints go to standard error, not among the answers
    work = import_module(module).work
    if not settings.configured:
        settings.configure(USE_I18N=False)  # reasons are in English here; the process that asked translates them
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
    while header := questions.read(LENGTH.size):
        seconds, argument = pickle.loads(questions.read(*LENGTH.unpack(header)))
        # The timer counts CPU seconds; its signal also ends a running regular expression.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        _answer(answers, work, argument)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del argument


def write_message(file: BinaryIO, value: object) -> None:
    """Write a value to a pipe, as a pickle preceded by its length."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _answer(answers: BinaryIO, work: Callable[[Any], Any], argument: object) -> None:
    from conversations.errors import Refused

    try:
        result = work(argument)
        for item in result if isinstance(result, GeneratorType) else (result,):
            write_message(answers, (ITEM, item))
        last: tuple[str, object] = (DONE, None)
    except Refused as refusal:
        last = (REFUSED, refusal)
    except MemoryError:
        last = (MEMORY, None)
    except Exception as error:
        last = (FAILED, f"{type(error).__name__}: {error}"[:500])
    write_message(answers, last)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
