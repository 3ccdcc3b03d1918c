"""Databases of earlier releases, upgraded by today's migrations: everything in them is there and works."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from chatsite.single_server import CannotStart
from chatsite.startup_checks import OWN_APPS, require_migrated

pytestmark = pytest.mark.once
INDEXES = "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
ROOT = Path(__file__).parents[3]
RELEASES = sorted((ROOT / "tests" / "releases").glob("*.sqlite3.gz"))
"""A database of each release, filled by `python -m tests.releases`, which also makes a backup of it."""
NAMES = [path.name.removesuffix(".sqlite3.gz") for path in RELEASES]
CHECKS = """
from conversations.context.transcript import between
from conversations.models import ApiKey, Conversation, User
from conversations.requests.next_request import preview
alice, bob = User.objects.order_by("pk")
assert alice.check_password("correct horse battery")
assert alice.is_superuser and not bob.is_superuser and bob.is_staff
assert bob.get_all_permissions() == {
    "conversations.add_user", "conversations.view_user", "conversations.change_user", "conversations.view_conversation"
}, bob.get_all_permissions()
assert list(bob.groups.values_list("name", flat=True)) == ["supporters"]
chat = alice.conversations.get()
assert [message.content for message in chat.messages.order_by("created_at")] == [
    f"Message {n} says port {5000 + n}." for n in range(6)
]
assert preview(chat).messages[1]["content"] == chat.compressed_context and chat.checkpoints.get().active
assert len(between(chat.pk, None, chat.messages.latest("created_at").created_at)) == 6
assert ApiKey.objects.get().user == alice
assert User.objects.create_user("carol").pk == bob.pk + 1
assert bob.delete() and alice.delete() and not Conversation.objects.exists()
print("whole")
"""
LOG = """
from django.contrib.admin.models import LogEntry
assert LogEntry.objects.get().get_edited_object().username == "bob"
print("logged")
"""
"""A backup leaves the administration's log out."""


KILLS_EVERY = int(os.environ.get("KILLS_EVERY", "40"))
"""The first process dies before this statement, the next before twice as many, and so on; `make torture` sets 1."""


def run(folder: Path, *command: str, text: str = "") -> str:
    environment = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": "", "SECRET_KEY": "k" * 40}
    environment["DJANGO_SETTINGS_MODULE"] = "chatsite.settings"
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def schema(database: Path) -> dict[str, list[Any]]:
    """Columns, foreign keys and indexes of each table: their order within a table is left to each database."""
    with closing(sqlite3.connect(database)) as opened:
        names = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(
                str(row[1:] if of == "table_info" else row[2:])
                for of in ("table_info", "foreign_key_list", "index_list")
                for row in opened.execute(f'PRAGMA {of}("{name}")')
            )
            + sorted(sql for (sql,) in opened.execute(INDEXES, [name]))
            for name in names
        }


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new, empty database."""
    folder = tmp_path_factory.mktemp("new")
    run(folder, "migrate", "-v0")
    return folder


@pytest.mark.parametrize("release", RELEASES, ids=NAMES)
def test_a_database_of_an_earlier_release_is_upgraded(release: Path, new: Path, tmp_path: Path) -> None:
    (tmp_path / "chatsite.sqlite3").write_bytes(gzip.decompress(release.read_bytes()))
    run(tmp_path, "migrate", "-v0")
    assert schema(tmp_path / "chatsite.sqlite3") == schema(new / "chatsite.sqlite3")
    assert "logged" in run(tmp_path, "shell", "-v0", text=LOG)
    assert "whole" in run(tmp_path, "shell", "-v0", text=CHECKS)
    with closing(sqlite3.connect(tmp_path / "chatsite.sqlite3")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not database.execute("PRAGMA foreign_key_check").fetchall()


@pytest.mark.parametrize("release", NAMES)
def test_a_backup_of_an_earlier_release_is_restored(release: str, new: Path, tmp_path: Path) -> None:
    shutil.copy(new / "chatsite.sqlite3", tmp_path)
    run(tmp_path, "restore", str(ROOT / "tests" / "releases" / f"{release}.backup"))
    assert "whole" in run(tmp_path, "shell", "-v0", text=CHECKS)


@pytest.mark.long
def test_a_backup_of_an_upgraded_database_fits_a_new_one(new: Path, tmp_path: Path) -> None:
    shutil.copy(new / "chatsite.sqlite3", tmp_path)
    upgraded = tmp_path / "upgraded"
    upgraded.mkdir()
    (upgraded / "chatsite.sqlite3").write_bytes(gzip.decompress(RELEASES[0].read_bytes()))
    run(upgraded, "migrate", "-v0")
    run(upgraded, "backup", str(tmp_path / "backup"))
    run(tmp_path, "restore", str(tmp_path / "backup"))
    assert "whole" in run(tmp_path, "shell", "-v0", text=CHECKS)


@pytest.mark.long
def test_a_migration_that_dies_again_and_again_is_finished_by_the_next(new: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(tmp_path), "DATABASE_URL": "", "SECRET_KEY": "k" * 40}
    environment["DJANGO_SETTINGS_MODULE"] = "chatsite.settings"
    command = [sys.executable, "-m", "tests.releases.killed_migration", str(KILLS_EVERY)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, died = map(int, done.stdout.split())
    assert died >= 3
    assert schema(tmp_path / "chatsite.sqlite3") == schema(new / "chatsite.sqlite3")
    assert run(tmp_path, "migrate", "--check") == ""


@pytest.mark.django_db
def test_a_database_of_amid_the_squashed_migrations_is_refused() -> None:
    recorder = MigrationRecorder(connection)
    for app in OWN_APPS:
        recorder.migration_qs.filter(app=app).delete()
        recorder.record_applied(app, "0001_initial")
    with pytest.raises(CannotStart, match=r"before 0\.1\.0 .* commit [0-9a-f]{8} once"):
        require_migrated()


@pytest.mark.django_db
def test_a_process_of_an_earlier_version_refuses_a_newer_database() -> None:
    require_migrated()
    MigrationRecorder(connection).record_applied("axes", "9999_of_a_library")
    require_migrated()
    MigrationRecorder(connection).record_applied("conversations", "9999_later")
    with pytest.raises(CannotStart, match=r"newer version of chatsite, which applied conversations\.9999_later"):
        require_migrated()


def test_this_version_has_one_for_those_that_come_after_it() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"{version}.sqlite3.gz" in [path.name for path in RELEASES], "run python -m tests.releases"
