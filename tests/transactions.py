"""Records the statements of each transaction, and how long it held its connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction


@dataclass
class Transaction:
    """The statements of one outermost transaction, savepoints aside, and their thread time, the first to the last."""

    statements: list[str] = field(default_factory=list)
    began: float = 0.0
    ended: float = 0.0

    @property
    def milliseconds(self) -> float:
        return 1000 * (self.ended - self.began)


@contextmanager
def recorded_transactions() -> Iterator[list[Transaction]]:
    """The transactions of this thread's connection, in order, while the block runs."""
    found: list[Transaction] = []
    blocks: list[Any] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not connection.in_atomic_block:
            return execute(sql, params, many, context)
        block = connection.atomic_blocks[0]
        if not blocks or blocks[-1] is not block:
            blocks.append(block)
            found.append(Transaction(began=time.thread_time()))
        try:
            return execute(sql, params, many, context)
        finally:
            if "SAVEPOINT" not in sql:
                found[-1].statements.append(sql)
            found[-1].ended = time.thread_time()

    assert not transaction.get_connection().in_atomic_block, "a test's own transaction would hide all others"
    with connection.execute_wrapper(note):
        yield found
