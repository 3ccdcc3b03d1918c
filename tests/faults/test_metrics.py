"""What is counted is right whatever process did it, and however that ended; who may read it; the dashboard of it."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import redis as redis_client
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from tests.cluster import Cluster
from tests.faults.serving import sign_in
from tests.faults.test_broker import Shop
from tests.furnishing import key_of_alice
from tests.journeys.site import ROOT, long_conversation
from tests.llm_server import LlmServer
from tests.promql import asked_by
from tests.servers import postgres, redis, wait_until

pytestmark = pytest.mark.long

TOKEN = "a-token-of-the-tests-0123456789"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "docs" / "grafana-dashboard.json").read_text())
Series = dict[str, dict[frozenset[tuple[str, str]], float]]


@dataclass
class Watched(Shop):
    """A site of two web processes and a worker, and who watches it."""

    def read(self, path: str, *, at: str = "web0") -> tuple[int, str]:
        request = urllib.request.Request(self.cluster.url(at) + path, headers={"Authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def series(self, *, at: str = "web0") -> Series:
        status, text = self.read("/metrics", at=at)
        assert status == 200, text
        return series_of(text_string_to_metric_families(text))

    def checks(self, status: int) -> dict[str, str]:
        found, text = self.read("/readyz")
        assert found == status, text
        return dict(json.loads(text)["checks"])

    def open_page(self, *, at: str) -> Any:
        cookie = sign_in(SimpleNamespace(url=self.cluster.url(at)))  # type: ignore[arg-type]
        url = f"{self.cluster.url(at).replace('http', 'ws')}/ws/conversations/{self.id}/"
        return connect(url, additional_headers={"Cookie": cookie}, origin=self.cluster.url(at))  # type: ignore[arg-type]


def series_of(families: Any) -> Series:
    found: Series = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def value(series: Series, name: str, **labels: str) -> float:
    """The sum of all that have these labels."""
    wanted = frozenset(labels.items())
    return sum(value for found, value in series.get(name, {}).items() if wanted <= found)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One that has answered four messages, three of them well and one with a tool, and a call of the gateway, and
    compacted once."""
    with (
        LlmServer() as llm,
        postgres() as database_url,
        redis() as server,
        Cluster(
            tmp_path_factory.mktemp("watched"), database_url=database_url, redis_url=server.url, llm_url=llm.url,
            workers=1, METRICS_TOKEN=TOKEN, COMPRESSION_AHEAD="false",
        ) as cluster,
    ):  # fmt: skip
        shop = Watched(cluster, server, llm, key_of_alice(cluster.environment))
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE conversations_modelprofile SET calls_tools = true")
        live(shop)
        yield shop


def live(shop: Watched) -> None:
    shop.id = shop.asked("POST", "/conversations/import", long_conversation(40))["conversations"][0]["id"]
    for answer in ({}, {"status": 401}, {}):
        shop.llm.enqueue(**answer)  # type: ignore[arg-type]
        shop.sends("hello")
        shop.ended(seconds=30)
    shop.llm.enqueue("", calls=[("calculate", '{"expression": "4 + 5"}')])
    shop.asked("POST", f"/conversations/{shop.id}/messages", {"content": "4 and 5?"})
    shop.asked("POST", f"/context/{shop.id}/compact", {}, at="web1")
    wait_until(lambda: bool(shop.asked("GET", f"/conversations/{shop.id}")["compressed_at"]), what="the compaction")
    body = {"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}
    request = urllib.request.Request(
        shop.cluster.url("web1") + "/v1/chat/completions", json.dumps(body).encode(),
        {"Authorization": f"Bearer {shop.key}", "Content-Type": "application/json"},
    )  # fmt: skip
    urllib.request.urlopen(request, timeout=30).read()


def test_every_web_process_tells_what_all_processes_did(watched: Watched) -> None:
    for at in ("web0", "web1"):
        series = watched.series(at=at)
        assert value(series, "turn_count_total", model="scripted", status="complete") == 4
        assert value(series, "tool_call_count_total", tool="calculate", outcome="done") == 1
        assert value(series, "turn_count_total", status="failed") == 1
        assert value(series, "provider_error_count_total", model="scripted", reason="key_refused") == 1
        assert value(series, "compaction_count_total", trigger="api", status="succeeded") == 1
        assert value(series, "compaction_latency_seconds_count", trigger="api") == 1
        assert 0 < value(series, "compaction_reduction_percent") < 100
        assert value(series, "compaction_tokens_saved_total") > 0
        assert value(series, "turn_latency_seconds_bucket", le="+Inf") == 5
        assert value(series, "gateway_call_count_total", status="200") == 1
        assert value(series, "queue_depth") == 0
        assert not [name for name in series if name.endswith("_created")]


def test_every_series_and_label_that_the_dashboard_asks_for_is_there(watched: Watched) -> None:
    series = watched.series()
    labels = {name: {label for found in many for label, _ in found} for name, many in series.items()}
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert len(expressions) > 13
    for expression in expressions:
        asked = asked_by(expression)
        assert asked.series
        for name, wanted in asked.series.items():
            assert name in labels, expression
            assert wanted | asked.grouped <= labels[name], f"{name} in {expression}"
    [variable] = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    [(name, label)] = re.findall(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert label in labels[name]


def test_what_a_killed_process_has_counted_stays_and_what_it_had_open_does_not(watched: Watched) -> None:
    with watched.open_page(at="web0"), watched.open_page(at="web1"):
        wait_until(lambda: value(watched.series(), "open_sockets") == 2, what="two open pages")
        before = watched.series()
        files = sorted(Path(watched.cluster.folder, "metrics").iterdir())
        for name in ("worker0", "web1"):
            watched.cluster.kill(name)
        after = watched.series()
        assert value(after, "open_sockets") == 1
        for name in ("turn_count_total", "compaction_count_total", "turn_latency_seconds_bucket"):
            assert after[name] == before[name]
    for name in ("worker0", "web1"):
        watched.cluster.start(name)
    watched.sends("and now?")
    watched.ended(seconds=30)
    wait_until(lambda: value(watched.series(), "turn_count_total", status="complete") == 5, what="the count")
    assert value(watched.series(), "open_sockets") == 0
    assert sorted(Path(watched.cluster.folder, "metrics").iterdir()) == files, "they go on where the others stopped"


def test_readyz_names_what_is_away(watched: Watched) -> None:
    wait_until(lambda: watched.read("/readyz")[0] == 200, what="all of it")
    watched.cluster.kill("worker0")
    redis_client.Redis.from_url(watched.redis.url).flushall()  # as when 30 seconds have passed
    # A probe is answered with what was found out within the last second.
    wait_until(lambda: watched.read("/readyz")[0] == 503, what="the worker to be missed")
    assert watched.checks(503) == {
        "database": "ok", "writes": "ok", "redis": "ok", "worker": "none was heard of in 30 s", "model": "ok"
    }  # fmt: skip
    watched.redis.stop(signal.SIGKILL)
    wait_until(lambda: watched.checks(503)["redis"] != "ok", what="Redis to be missed")
    assert watched.checks(503)["redis"] == "cannot be used (ConnectionError)"


def test_without_the_database_the_rest_is_told(watched: Watched) -> None:
    """The last one: it does not come back."""
    stop_postgres(watched.cluster.environment["DATABASE_URL"])
    wait_until(lambda: "queue_depth" not in watched.series(), what="the database to be missed")
    assert value(watched.series(), "turn_count_total", model="scripted") >= 3
    wait_until(lambda: watched.read("/healthz")[0] == 503, what="the database to be missed")
    wait_until(lambda: watched.read("/readyz")[0] == 503, what="the database to be missed")
    assert watched.checks(503)["database"] == "the database cannot be used (OperationalError)"


def stop_postgres(url: str) -> None:
    with psycopg.connect(url) as connection:
        found = connection.execute("SHOW data_directory").fetchone()
    assert found is not None
    os.kill(int(Path(found[0], "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)  # at once
