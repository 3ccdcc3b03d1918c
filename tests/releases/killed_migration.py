"""Migrates a database by processes that die before their nth statement in a transaction, and then by one that lives.

Django records some migrations after the transaction of their tables. A process that dies in between leaves a database
that the next one cannot migrate; this is not tried here.

`python -m tests.releases.killed_migration STEP` prints the number of statements and of processes that died.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import django

KILLED = 9


def in_child(work: Callable[[], None]) -> int:
    """The exit code of a child of this process that does the work."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)


def migrate(dies_before: int, told: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    count = 0

    def counted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal count
        count += connection.in_atomic_block
        if connection.in_atomic_block and count == dies_before:
            os._exit(KILLED)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(counted):
        call_command("migrate", interactive=False, verbosity=0)
    os.write(told, str(count).encode())


def main(step: int) -> None:
    django.setup()
    reading, told = os.pipe()
    number, died = step, 0
    while (code := in_child(partial(migrate, number, told))) == KILLED:
        died += 1
        number += step
    assert code == 0, f"the process that lives failed with {code}"
    os.close(told)
    print(os.read(reading, 100).decode(), died)


if __name__ == "__main__":
    main(int(sys.argv[1]))
