"""A database that another program holds: whoever asks is told to come again, and the site says that it cannot write."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx2
import pytest
from django.db import DatabaseError, OperationalError

from conversations.runtime.database import DatabaseBusy, refusal_of
from tests.faults.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.mark.long
def test_a_locked_database_is_503_with_a_time_to_come_again(served: Served) -> None:
    id = served.ask("POST", "/api/conversations", {"title": "held"})["id"]
    headers = {"Authorization": f"Bearer {served.key}"}

    def renamed() -> httpx2.Response:
        address = f"{served.site.url}/api/conversations/{id}"
        return httpx2.patch(address, json={"title": "other"}, headers=headers, timeout=60)

    def ready() -> httpx2.Response:
        return httpx2.get(f"{served.site.url}/readyz", timeout=60)

    with closing(sqlite3.connect(served.site.data / "chatsite.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor() as pool:
            asked, unready = pool.submit(renamed), pool.submit(ready)
        other.execute("ROLLBACK")
    answer = asked.result()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5"), answer.text
    assert "try again" in json.loads(answer.text)["error"]["message"]
    checks = unready.result().json()["checks"]
    assert unready.result().status_code == 503 and checks["writes"] != "ok"
    assert renamed().status_code == 200 and served.ask("GET", f"/api/conversations/{id}")["title"] == "other"


@pytest.mark.parametrize(
    ("fault", "is_busy"),
    [
        (OperationalError("database is locked"), True),
        (OperationalError("database table is locked: x"), True),
        (OperationalError("canceling statement due to lock timeout"), True),
        (OperationalError("deadlock detected"), True),
        (OperationalError("no such table: x"), False),
        (DatabaseError("database is locked"), False),
        (None, False),
    ],
)
def test_only_a_lock_is_a_busy_database(fault: Exception | None, is_busy: bool) -> None:
    assert isinstance(refusal_of(fault), DatabaseBusy) is is_busy
    outer = ValueError()
    outer.__cause__ = fault
    assert isinstance(refusal_of(outer), DatabaseBusy) is is_busy
