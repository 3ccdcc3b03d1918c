"""A process of a site of many that cannot work ends at once, with a line that names the setting and no secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import command_of
from tests.journeys.site import ROOT
from tests.servers import free_port, postgres, redis

AWAY = "127.0.0.1:9"
SETTINGS = {
    "SECRET_KEY": "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz",
    "DATABASE_URL": f"postgres://u:hunter2@{AWAY}/x",
    "REDIS_URL": f"redis://:hunter2@{AWAY}/0",
    "CELERY_BROKER_URL": f"redis://:hunter2@{AWAY}/1",
}
WRONG = [
    ("web", "DATABASE_URL", "mysql://u:hunter2@h/x"),
    ("worker", "DATABASE_URL", "mysql://u:hunter2@h/x"),
    pytest.param("beat", "DATABASE_URL", "mysql://u:hunter2@h/x", marks=pytest.mark.long),
    ("web", "SECRET_KEY", "hunter2"),
    pytest.param("worker", "REDIS_URL", "", marks=pytest.mark.long),
    ("beat", "CELERY_BROKER_URL", "http://:hunter2@x"),
]
"""One that cannot be read, and three that checks refuse."""


def start(folder: Path, service: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Of a process that ends by itself."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = kept | {"DATA_DIR": str(folder)} | SETTINGS | settings
    command = command_of(service) + (["--port", str(free_port())] if service == "web" else [])
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def refused_with(said: subprocess.CompletedProcess[str], name: str) -> None:
    text = said.stdout + said.stderr
    assert name in text
    assert "Traceback" not in text
    assert "hunter2" not in text


@pytest.mark.parametrize(("service", "setting", "value"), WRONG)
def test_a_setting_that_cannot_work_ends_the_process(tmp_path: Path, service: str, setting: str, value: str) -> None:
    refused_with(start(tmp_path, service, **{setting: value}), setting)


def test_several_web_processes_need_redis(tmp_path: Path) -> None:
    refused_with(start(tmp_path, "web", WEB_CONCURRENCY="2", REDIS_URL="", CELERY_BROKER_URL=""), "REDIS_URL")


@pytest.mark.parametrize("service", ["web", pytest.param("worker", marks=pytest.mark.long)])
def test_without_its_database_a_process_ends(tmp_path: Path, service: str) -> None:
    said = start(tmp_path, service)
    refused_with(said, "DATABASE_URL")
    assert AWAY in said.stdout + said.stderr


@pytest.mark.parametrize("service", ["worker", pytest.param("beat", marks=pytest.mark.long)])
def test_a_worker_without_a_broker_is_none(tmp_path: Path, service: str) -> None:
    said = start(tmp_path, service, CELERY_BROKER_URL="")
    refused_with(said, "CELERY_BROKER_URL must be set")
    assert said.returncode != 0


def test_a_database_of_an_older_version_is_not_touched(tmp_path: Path) -> None:
    with postgres() as url:
        refused_with(start(tmp_path, "web", DATABASE_URL=url), "manage.py migrate")


@pytest.mark.long
def test_without_redis_a_process_starts_and_says_so(tmp_path: Path) -> None:
    """Whatever else: pages work without it."""
    with postgres() as url, redis() as server:
        server.stop()
        environment = os.environ | SETTINGS | {
            "DATA_DIR": str(tmp_path), "DATABASE_URL": url, "REDIS_URL": server.url, "CELERY_BROKER_URL": server.url,
        }  # fmt: skip
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
        for service, name in (("web", "REDIS_URL"), ("worker", "CELERY_BROKER_URL")):
            command = command_of(service) + (["--port", str(free_port())] if service == "web" else [])
            with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr
                try:
                    assert any(f"{name}: " in line and "cannot be used" in line for line in process.stderr)
                    assert process.poll() is None
                finally:
                    process.terminate()
                    process.communicate(timeout=60)
