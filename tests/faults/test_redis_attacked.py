"""Somebody who can write to Redis gets no code run by it: nothing that is read from there is ever a pickle."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from redis import Redis as Client

from tests.cluster import Cluster
from tests.servers import REDIS_PASSWORD, Redis, postgres, redis, wait_until

USE = """
from django.core.cache import cache
from django.contrib.sessions.backends.cached_db import SessionStore
from django.conf import settings
import sys
assert settings.CACHES["default"]["BACKEND"].startswith("django_redis")
cache.set("kept", {"words": [1]})
session = SessionStore()
session["words"] = "kept"
session.save()
print(session.session_key)
"""
READ = """
from django.core.cache import cache
from django.contrib.sessions.backends.cached_db import SessionStore
assert cache.get("kept") is None
assert cache.get_or_set("kept", lambda: "new") == "new"
assert SessionStore("SESSION")["words"] == "kept"
"""


class Attack:
    """Loading a pickle of it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def test_an_attack_is_one(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Attack(tmp_path / "loaded")))
    assert (tmp_path / "loaded").is_dir()


@pytest.mark.long
def test_pickles_in_the_cache_and_in_sessions_are_not_loaded(tmp_path: Path) -> None:
    with redis() as server:
        site = Cluster(
            tmp_path, database_url=f"sqlite:///{tmp_path / 'db.sqlite3'}", redis_url=server.url, llm_url="", webs=1
        )
        site.manage("migrate", "--verbosity=0")
        session = site.manage("shell", "--no-imports", "-c", USE).split()[-1]
        client = Client.from_url(server.url)
        keys = client.keys("*")
        assert len(keys) == 2
        for key in keys:
            json.loads(client.get(key))
            client.set(key, pickle.dumps(Attack(tmp_path / "loaded")))
        site.manage("shell", "--no-imports", "-c", READ.replace("SESSION", session))
    assert not (tmp_path / "loaded").exists()


@pytest.mark.long
def test_a_worker_throws_a_pickled_message_away_and_goes_on(tmp_path: Path) -> None:
    with postgres() as database_url, redis() as server:
        site = Cluster(tmp_path, database_url=database_url, redis_url=server.url, llm_url="", webs=1, workers=1)
        site.manage("migrate", "--verbosity=0")
        broker = Client.from_url(f"{server.url}/1")
        broker.lpush("celery", message(pickle.dumps(Attack(tmp_path / "loaded"))))
        site.start("worker0")
        try:
            wait_until(lambda: "ContentDisallowed" in site.log("worker0"), what="the refusal", seconds=60)
            assert broker.llen("celery") == 0
            assert site.processes["worker0"].poll() is None
            assert REDIS_PASSWORD not in site.log("worker0")
        finally:
            site.kill("worker0")
    assert not (tmp_path / "loaded").exists()


def message(body: bytes) -> str:
    """What Celery itself would send, had it been told to send pickles."""
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-type": "application/x-python-serialize",
            "content-encoding": "binary",
            "headers": {"task": "chatsite.work", "id": "1", "lang": "py"},
            "properties": {
                "delivery_tag": "1", "body_encoding": "base64",
                "delivery_info": {"exchange": "", "routing_key": "celery"},
            },
        }
    )  # fmt: skip


@pytest.fixture
def server() -> Any:
    with redis() as started:
        yield started


def test_who_has_no_password_is_told_nothing_and_no_list_of_processes_has_it(server: Redis) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "REDISCLI_AUTH"}
    ping = ["redis-cli", "-e", "-p", str(server.port), "ping"]
    assert subprocess.run(ping, env=environment, capture_output=True).returncode != 0
    assert subprocess.run(ping, env=environment | {"REDISCLI_AUTH": "wrong"}, capture_output=True).returncode != 0
    assert subprocess.run(ping, env=environment | {"REDISCLI_AUTH": REDIS_PASSWORD}, check=True, capture_output=True)
    assert server.process
    assert REDIS_PASSWORD.encode() not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert (server.folder / "redis.conf").stat().st_mode & 0o777 == 0o600
