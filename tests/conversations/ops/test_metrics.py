"""Who may read what is counted, under which names, how soon, and that a process goes on where another stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from chatsite import multiprocess_metrics
from compression.core.values import Steering
from conversations.compaction import lease
from conversations.models import ApiKey, Message
from conversations.ops import queue_depth
from conversations.runtime import metrics
from tests.conversations.chat import fill
from tests.journeys.site import ROOT
from tests.timing import cpu_seconds

TOKEN = "a-token-of-the-tests-0123456789"


def test_whom_metrics_are_for(user: Any, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    _, key = ApiKey.make(user, "tests")

    def asked(bearer: str = "", *, address: str = "10.0.0.1", client: Any = None, **headers: str) -> int:
        given = headers | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        response = (client or Client()).get("/metrics", headers=given, REMOTE_ADDR=address)
        assert response.status_code == 200 or response.content.count(b"\n") == 1
        return int(response.status_code)

    signed_in = Client()
    signed_in.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert (asked(), asked(TOKEN), asked(TOKEN[:-1]), asked("é")) == (401, 200, 401, 401)
    assert (asked(key), asked(client=signed_in)) == (403, 403)
    user.is_staff = True
    user.save()
    assert (asked(key), asked(client=signed_in)) == (200, 200)
    assert [asked(address=address) for address in ("127.0.0.1", "::1", "", "unix:")] == [200, 200, 401, 401]
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via"):
        assert asked(address="127.0.0.1", **{header: "127.0.0.1"}) == 401
    assert asked("wrong", address="127.0.0.1") == 401, "a wrong token is refused, whoever sends it"
    settings.METRICS_TOKEN = ""
    assert asked(TOKEN) == 401


def test_the_names_of_the_families_are_those_of_the_documentation(transactional_db: None) -> None:
    metrics.compactions.labels("auto", "succeeded")
    response = Client().get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    families = {family.name for family in text_string_to_metric_families(response.content.decode())}
    documented = re.findall(r"^\| `(.*?)` \| (?:counter|gauge|histogram)", (ROOT / "docs/metrics.md").read_text(), re.M)
    names = {name for line in documented for name in line.split("`, `")}
    assert len(names) == 16
    assert names <= families


def test_many_series_of_many_processes_are_told_soon(transactional_db: None, settings: Any, tmp_path: Path) -> None:
    for slot in range(10):
        write(tmp_path, slot, models=20)
    settings.METRICS_DIR = str(tmp_path)
    assert told(multiprocess_metrics.collect()) == told(
        MultiProcessCollector.merge([str(file) for file in tmp_path.glob("*.db")])
    )
    client = Client()
    assert client.get("/metrics").content.count(b"\n") > 600
    assert cpu_seconds(lambda: client.get("/metrics"), rounds=5) < 0.1


def test_what_waits_is_counted_by_two_indexes_alone(conversation: Any) -> None:
    fill(conversation, 2_000, words=1)
    last = Message.objects.filter(role="assistant").latest("created_at")
    Message.objects.filter(pk=last.pk).update(status="streaming")
    lease.claim(conversation.pk, trigger="manual", steering=Steering())
    with CaptureQueriesContext(connection) as ran:
        depth = {tuple(one.labels.values()): one.value for one in queue_depth.queue_depth().samples}
    assert [work for work, number in depth.items() if number] == [("reply", "waiting"), ("compaction", "waiting")]
    assert len(ran) == 2
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")  # tables of tests are small
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        for query, index in zip(ran, ("one_reply_at_a_time", "one_active_compaction"), strict=True):
            cursor.execute(f"{explain} {query['sql']}")
            assert index in str(cursor.fetchall())


def write(folder: Path, slot: int, *, models: int) -> None:
    counters = MmapedDict(str(folder / f"counter_{slot}.db"))
    histograms = MmapedDict(str(folder / f"histogram_{slot}.db"))
    for model in map(str, range(models)):
        for status in ("complete", "failed", "stopped", "interrupted"):
            counters.write_value(mmap_key("t", "t_total", ["model", "status"], [model, status], "help"), slot, 0.0)
        for name in ("a", "b"):
            histograms.write_value(mmap_key(name, f"{name}_sum", ["model"], [model], "help"), 0.5, 0.0)
            for bound in (*metrics.WAIT_BUCKETS, "+Inf"):
                key = mmap_key(name, f"{name}_bucket", ["model", "le"], [model, str(bound)], "help")
                histograms.write_value(key, slot, 0.0)
    counters.close()
    histograms.close()


def told(families: Any) -> dict[str, tuple[str, list[Any]]]:
    def of(family: Metric) -> tuple[str, list[Any]]:
        return family.type, sorted((one.name, sorted(one.labels.items()), one.value) for one in family.samples)

    return {family.name: of(family) for family in families}


@pytest.mark.long
def test_who_comes_after_a_process_goes_on_counting_where_it_stopped(tmp_path: Path) -> None:
    def turns_after(program: str) -> float:
        begin = "import django; django.setup(); from conversations.runtime import metrics; metrics.sockets.inc()"
        count = "metrics.turn_ended(model='one', status='complete', ms=5, first_token_ms=None)"
        tell = "from chatsite.multiprocess_metrics import collect; found = {one.name: one.samples for one in collect()}"
        say = "print(found['turn_count'][0].value, flush=True)"
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "METRICS_DIR": str(tmp_path)}
        command = [sys.executable, "-c", f"{begin}; {count}; {tell}; {say}; {program}"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        return float(done.stdout)

    assert turns_after("") == 1
    assert turns_after("import os; os.kill(os.getpid(), 9)") == 2
    files = sorted(tmp_path.iterdir())
    with (tmp_path / "histogram_0.db").open("r+b") as broken:
        broken.truncate(100)
    assert turns_after("") == 3, "a file that a machine did not write to its end does not stop the start"
    assert sorted(tmp_path.iterdir()) == files
