"""A site of several processes: one stops what another writes; what is asked for while Redis is away is done later."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from psycopg import connect
from redis import Redis as Broker

from tests.cluster import Cluster
from tests.furnishing import key_of_alice
from tests.journeys.site import ROOT
from tests.llm_server import LlmServer
from tests.servers import Redis, postgres, redis, wait_until

LEASE_SECONDS = 8
BEAT = LEASE_SECONDS / 4
GRACE = 3
"""STOP_GRACE_SECONDS, unless it is set."""

BEGIN = """
import django
django.setup()
from chatsite import celery
from django.db import connection
celery._begin()
print(connection.connection)
"""


@dataclass
class Shop:
    """Two web processes, a worker, a clock, and a person with a conversation."""

    cluster: Cluster
    redis: Redis
    llm: LlmServer
    key: str
    id: str = ""

    def ask(self, method: str, path: str, body: object = None, *, at: str = "web0") -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.cluster.url(at) + f"/api{path}", data, headers, method=method)
        return urllib.request.urlopen(request, timeout=30)

    def asked(self, method: str, path: str, body: object = None, *, at: str = "web0") -> Any:
        with self.ask(method, path, body, at=at) as answer:
            return json.loads(answer.read())

    def sends(self, text: str) -> None:
        """Without waiting for the reply."""
        with self.ask("POST", f"/conversations/{self.id}/messages", {"content": text, "stream": True}) as answer:
            assert answer.status == 200

    def last(self) -> dict[str, Any]:
        items: list[dict[str, Any]] = self.asked("GET", f"/conversations/{self.id}/messages?limit=100")["items"]
        return items[-1]

    def ended(self, *, seconds: float) -> dict[str, Any]:
        wait_until(lambda: bool(self.last()["status"] != "streaming"), what="the reply", seconds=seconds)
        return self.last()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder: Path = tmp_path_factory.mktemp("shop")
    with (
        LlmServer() as llm,
        postgres() as database_url,
        redis() as server,
        Cluster(
            folder, database_url=database_url, redis_url=server.url, llm_url=llm.url, workers=1,
            LEASE_SECONDS=str(LEASE_SECONDS),
        ) as cluster,
    ):  # fmt: skip
        shop = Shop(cluster, server, llm, key_of_alice(cluster.environment))
        shop.id = shop.asked("POST", "/conversations", {"title": "t"})["id"]
        shop.sends("warm up")
        shop.ended(seconds=30)
        yield shop


@pytest.mark.long
def test_a_reply_that_a_worker_writes_is_stopped_by_any_process_at_once(shop: Shop) -> None:
    stopped_after = min(_stop_takes(shop) for _ in range(2))  # a busy machine is slow once
    assert stopped_after < BEAT / 2, f"{stopped_after:.1f} s: that was the row, not Redis"


@pytest.mark.long
def test_without_redis_it_is_stopped_at_the_next_beat(shop: Shop) -> None:
    shop.llm.enqueue("word " * 200, drip=0.1)
    shop.sends("go on")
    wait_until(lambda: bool(shop.last()["content"]), what="the first words", seconds=10)
    shop.redis.stop(signal.SIGKILL)
    try:
        assert shop.asked("POST", f"/conversations/{shop.id}/stop", at="web1") == {"stopped": True}
        reply = shop.ended(seconds=BEAT + 8)
    finally:
        shop.redis.start()
    assert (reply["status"], reply["content"][:5]) == ("stopped", "word ")


@pytest.mark.long
def test_what_is_asked_for_while_the_broker_is_away_succeeds_and_is_done_when_it_is_back(shop: Shop) -> None:
    shop.redis.stop(signal.SIGKILL)
    began = time.monotonic()
    try:
        shop.sends("is anybody there?")
        assert time.monotonic() - began < 5
        assert shop.last()["status"] == "streaming"
    finally:
        shop.redis.start()
    reply = shop.ended(seconds=LEASE_SECONDS + 30)
    assert (reply["status"], reply["content"]) == ("complete", "All right.")


def takes_messages(shop: Shop) -> bool:
    """Whether a worker waits for what Redis has for it."""
    with Broker.from_url(f"{shop.redis.url}/1") as broker:
        return any(client["cmd"] == "brpop" for client in broker.client_list())


@pytest.mark.long
def test_the_first_message_after_the_broker_is_back_does_not_wait_for_a_lease(shop: Shop) -> None:
    shop.redis.stop(signal.SIGKILL)
    shop.redis.start()
    wait_until(lambda: takes_messages(shop), what="the worker at its broker")
    began = time.monotonic()
    shop.sends("at once?")
    assert shop.ended(seconds=LEASE_SECONDS + 10)["status"] == "complete"
    assert time.monotonic() - began < LEASE_SECONDS


@pytest.mark.long
def test_celery_finds_no_connection_that_it_would_close_under_the_loop(shop: Shop) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN], cwd=ROOT, env=shop.cluster.environment, capture_output=True)
    assert (done.returncode, done.stdout.strip()) == (0, b"None"), done.stderr


@pytest.mark.long
def test_a_worker_that_is_told_to_stop_hands_what_it_cannot_finish_to_another(shop: Shop) -> None:
    with _without_clock(shop):
        _asks_in_vain(shop, "wait for me")
        _begins_worker(shop, "worker1")
        began = time.monotonic()
        shop.cluster.kill("worker0", signal.SIGTERM)
        assert time.monotonic() - began < GRACE + 5
        _begins_anew(shop)
        _begins_worker(shop, "worker0")
        shop.cluster.kill("worker1")


@pytest.mark.long
def test_a_worker_looks_for_what_waits_as_soon_as_it_is_there(shop: Shop) -> None:
    with _without_clock(shop):
        _asks_in_vain(shop, "do not forget me")
        shop.cluster.kill("worker0")
        time.sleep(LEASE_SECONDS)
        _begins_worker(shop, "worker0")
        _begins_anew(shop)


@pytest.mark.long
def test_a_worker_stops_once_a_newer_version_has_migrated_the_database(shop: Shop) -> None:
    """What it has begun is handed back; until the newer version runs, what is asked for waits."""
    later = "('conversations', '9999_later', now())"
    _asks_in_vain(shop, "which version")
    with connect(shop.cluster.environment["DATABASE_URL"], autocommit=True) as database:
        database.execute(f"INSERT INTO django_migrations (app, name, applied) VALUES {later}")
        try:
            wait_until(
                lambda: shop.cluster.processes["worker0"].poll() is not None, what="the worker's end", seconds=60
            )
            assert "the worker stops: The database of DATABASE_URL is of a newer version" in shop.cluster.log("worker0")
            assert shop.last()["status"] == "streaming"
        finally:
            database.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
    shop.cluster.kill("worker0")
    _begins_worker(shop, "worker0")
    _begins_anew(shop)


@contextmanager
def _without_clock(shop: Shop) -> Iterator[None]:
    """Nothing is found by a sweep of the clock's."""
    shop.cluster.kill("beat")
    try:
        yield
    finally:
        shop.cluster.start("beat")


def _begins_worker(shop: Shop, name: str) -> None:
    """And listens to the broker."""
    shop.cluster.start(name)
    heard = Celery(broker=f"{shop.redis.url}/1").control.ping
    wait_until(lambda: bool(heard([f"{name}@chatsite"], timeout=1)), what=name, seconds=60)


def _asks_in_vain(shop: Shop, text: str) -> None:
    shop.llm.enqueue("too late", delay=60)
    shop.sends(text)
    shop.llm.wait_for(lambda llm: text in llm.last_request.text, seconds=30)


def _begins_anew(shop: Shop) -> None:
    """Without a clock there is no second chance, however long it takes."""
    reply = shop.ended(seconds=60)
    assert (reply["status"], reply["content"]) == ("complete", "All right.")


def _stop_takes(shop: Shop) -> float:
    shop.llm.enqueue("word " * 200, drip=0.1)
    shop.sends("go on")
    wait_until(lambda: bool(shop.last()["content"]), what="the first words", seconds=10)
    began = time.monotonic()
    assert shop.asked("POST", f"/conversations/{shop.id}/stop", at="web1") == {"stopped": True}
    reply = shop.ended(seconds=LEASE_SECONDS)
    assert (reply["status"], reply["content"][:5]) == ("stopped", "word ")
    return time.monotonic() - began
