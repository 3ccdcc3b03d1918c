"""SQLite as Django has it, but for what tests leave in it; see `tests.quick_tables`."""

from __future__ import annotations

from typing import Any

from django.db.backends.sqlite3 import base, operations

from tests.quick_tables import emptied


class DatabaseOperations(operations.DatabaseOperations):
    def sql_flush(self, style: Any, tables: Any, **how: Any) -> list[str]:
        return super().sql_flush(style, emptied(tables), **how)


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
