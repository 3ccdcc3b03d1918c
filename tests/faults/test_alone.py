"""What would be two sites in one database does not start, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conversations.checks import check_settings
from tests.journeys.site import ROOT, Site
from tests.llm_server import LlmServer
from tests.servers import free_port, postgres

SECRET = "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789"


def refused(site: Site, *command: str, **environment: str) -> str:
    """What a second process beside the site says before it ends."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=site.environment | environment, capture_output=True, text=True,
        timeout=30,
    )  # fmt: skip
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr
    return done.stderr


@pytest.mark.long
def test_a_second_server_on_one_sqlite_is_refused_until_the_first_is_gone(llm: LlmServer, tmp_path: Path) -> None:
    serve = ("manage.py", "serve", "--port", str(free_port()))
    uvicorn = ("-m", "uvicorn", "chatsite.asgi:application", "--port", str(free_port()))
    with Site(tmp_path, llm_url=llm.url) as site:
        for command in (serve, uvicorn):
            assert f"Another server is running on {tmp_path}. Stop it, or set DATA_DIR" in refused(site, *command)
        site.crash()
        site.start()


@pytest.mark.long
def test_a_second_server_on_one_postgresql_needs_redis(llm: LlmServer, tmp_path: Path) -> None:
    with postgres() as url, Site(tmp_path, llm_url=llm.url, DATABASE_URL=url, SECRET_KEY=SECRET) as site:
        other = tmp_path / "other"
        other.mkdir()
        for command in (
            ("manage.py", "serve", "--port", str(free_port())),
            ("-m", "uvicorn", "chatsite.asgi:application", "--port", str(free_port())),
        ):
            said = refused(site, *command, DATA_DIR=str(other))
            assert "Another server is running on the database of DATABASE_URL. Set REDIS_URL" in said
        site.crash()
        site.start()


SQLITE, POSTGRESQL = "django.db.backends.sqlite3", "django.db.backends.postgresql"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("LEASE_SECONDS", {"LEASE_SECONDS": 1}),
        ("LEASE_SECONDS", {"LEASE_SECONDS": float("inf")}),
        ("STOP_GRACE_SECONDS", {"STOP_GRACE_SECONDS": -1}),
        ("MAX_TURNS", {"MAX_TURNS": 0}),
        ("MAX_TURNS_PER_USER", {"MAX_TURNS_PER_USER": 0}),
        ("MAX_COMPACTIONS_PER_USER", {"MAX_COMPACTIONS_PER_USER": 0}),
        ("WEB_CONCURRENCY", {"WEB_CONCURRENCY": 0}),
        ("REDIS_URL", {"REDIS_URL": "http://127.0.0.1:6379"}),
        ("REDIS_URL", {"REDIS_URL": "redis://"}),
        ("CELERY_BROKER_URL", {"CELERY_BROKER_URL": "kafka://h", "REDIS_URL": "redis://h", "ENGINE": POSTGRESQL}),
        ("CELERY_BROKER_URL needs REDIS_URL", {"CELERY_BROKER_URL": "redis://h/1", "ENGINE": POSTGRESQL}),
        ("CELERY_BROKER_URL needs a PostgreSQL", {"CELERY_BROKER_URL": "redis://h/1", "REDIS_URL": "redis://h"}),
        ("WEB_CONCURRENCY needs REDIS_URL", {"WEB_CONCURRENCY": 2, "ENGINE": POSTGRESQL}),
        ("WEB_CONCURRENCY needs a PostgreSQL", {"WEB_CONCURRENCY": 2, "REDIS_URL": "redis://h"}),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    settings: Any, monkeypatch: pytest.MonkeyPatch, name: str, values: dict[str, Any]
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", values.get("ENGINE", SQLITE))
    assert check_settings() == []
    for setting, value in values.items():
        setattr(settings, setting, value)
    [fault] = check_settings()
    assert fault.msg.startswith(name)


def test_what_many_processes_need_is_enough(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", POSTGRESQL)
    settings.WEB_CONCURRENCY = 4
    settings.REDIS_URL, settings.CELERY_BROKER_URL = "redis://:password@h:6379/0", "amqp://u:p@h:5672//"
    assert check_settings() == []
