"""Databases of earlier releases, upgraded by today's migrations: everything in them is there and works."""

from __future__ import annotations

import gzip
import os
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from chatsite.single_server import CannotStart
from chatsite.startup_checks import require_migrated

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[3]
RELEASES = sorted((ROOT / "tests" / "releases").glob("*.sqlite3.gz"))
"""A database of each release, filled by `python -m tests.releases`."""
CHECKS = """
from django.contrib.admin.models import LogEntry
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
assert LogEntry.objects.get().get_edited_object() == bob
assert User.objects.create_user("carol").pk == bob.pk + 1
assert bob.delete() and alice.delete() and not Conversation.objects.exists()
print("whole")
"""


def run(folder: Path, *command: str, text: str = "") -> str:
    environment = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": "", "SECRET_KEY": "k" * 40}
    environment["DJANGO_SETTINGS_MODULE"] = "chatsite.settings"
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name.removesuffix(".sqlite3.gz"))
def test_a_database_of_an_earlier_release_is_upgraded(release: Path, tmp_path: Path) -> None:
    (tmp_path / "chatsite.sqlite3").write_bytes(gzip.decompress(release.read_bytes()))
    run(tmp_path, "migrate", "-v0")
    assert "whole" in run(tmp_path, "shell", "-v0", text=CHECKS)
    with sqlite3.connect(tmp_path / "chatsite.sqlite3") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not database.execute("PRAGMA foreign_key_check").fetchall()
    database.close()


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
