"""PostgreSQL as Django has it, but for how tests empty it: TRUNCATE makes new files for all tables and indexes, which
takes 30 ms after each test, and DELETE of some rows less than one.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.postgresql import base, operations

from tests.quick_tables import emptied


class DatabaseOperations(operations.DatabaseOperations):
    def sql_flush(self, style: Any, tables: Any, **_: Any) -> list[str]:
        if not tables:
            return []
        rows = [f"DELETE FROM {self.quote_name(name)};" for name in emptied(tables)]
        # Foreign keys are triggers, which a replica does not fire: the tables may go in any order.
        return ["SET session_replication_role = replica;", *rows, "SET session_replication_role = DEFAULT;"]


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
