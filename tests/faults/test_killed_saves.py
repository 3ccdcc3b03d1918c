"""A process that is killed during a save leaves all of it, or nothing.

`make torture` kills at each statement, on both databases.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psycopg
import pytest

from tests.journeys.site import ROOT
from tests.servers import postgres

EVERY = int(os.environ.get("KILLS_EVERY", "12"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    given = {"DJANGO_SETTINGS_MODULE": "chatsite.settings", "DATA_DIR": str(tmp_path)}
    with own_database() if request.param == "postgres" else nullcontext("") as url:
        yield os.environ | given | {"DATABASE_URL": url}


@contextmanager
def own_database() -> Iterator[str]:
    """The address of a database that nobody is connected to, so that it can be copied."""
    with postgres() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE site")
        yield url.removesuffix("postgres") + "site"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_save_is_stored_whole_or_not_at_all(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.faults.killed_saves", str(EVERY)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kills = json.loads(done.stdout)
    print(f"{sum(kills.values())} kills: {kills}")
    assert len(kills) == 15 and min(kills.values()) >= 1, "each save is tried"


def test_a_save_of_two_transactions_is_noticed(environment: dict[str, str]) -> None:
    script = """
from tests.faults import killed_saves
def half():
    from conversations.models import User
    yield "two people", lambda: [User.objects.create_user(name) for name in ("ann", "bob")]
killed_saves.saves = half
killed_saves.main(1)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "two people: a part is stored" in done.stderr, done.stderr
