"""What the log says in both of its formats, whatever happens: whose work it is, and nobody's words."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from chatsite import logs
from conversations.runtime import log_context
from tests.faults.serving import Served, serving
from tests.journeys.site import ROOT, long_conversation
from tests.servers import wait_until

SAID, TITLE, PROVIDER_KEY = "mark-of-words", "mark-of-title", "sk-mark-of-provider"
FAULTS: tuple[dict[str, Any], ...] = (
    {"status": 500, "code": SAID, "message": f"{SAID} {PROVIDER_KEY}", "retry_after": "60"},
    {"status": 401, "message": f"Incorrect API key provided: {PROVIDER_KEY}"},
)


@pytest.fixture(params=["line", "json"])
def lived(request: Any, tmp_path: Path) -> Iterator[tuple[str, Served]]:
    """A site on which a conversation has been through everything, marked wherever somebody's words or keys are."""
    settings = {"LOG_FORMAT": request.param, "OPENAI_API_KEY": PROVIDER_KEY}
    with serving(tmp_path, may_fail=True, **settings) as served:
        served.id = imported(served)
        path = f"/api/conversations/{served.id}"
        served.ask("POST", f"{path}/messages", {"content": f"hello {SAID}"})
        for fault in FAULTS:
            served.llm.enqueue(SAID, **fault)
            reply = served.ask("POST", f"{path}/messages", {"content": SAID})["assistant_message"]
            assert reply["status"] == "failed"
        served.llm.enqueue_summary(f"I cannot summarise {SAID}.", times=3)
        served.ask("POST", f"/api/context/{served.id}/compact", {"instructions": SAID})
        wait_until(lambda: served.ask("GET", path)["compressed_at"] is not None, what="the compaction")
        assert status_of(served, f"/api/conversations?q={SAID}") == 200
        for path_of_programs in ("/api/conversations", "/v1/models"):
            assert status_of(served, f"{path_of_programs}?q={SAID}", key="cs_mark-of-a-wrong-key") == 401
        break_the_database(tmp_path / "chatsite.sqlite3")
        assert status_of(served, f"{path}/messages", {"content": SAID}) == 500
        yield request.param, served


def imported(served: Served) -> str:
    file = long_conversation(40)
    file["title"] = TITLE
    for message in file["messages"]:
        message["content"] += f" {SAID}"
    return str(served.ask("POST", "/api/conversations/import", file)["conversations"][0]["id"])


def break_the_database(path: Path) -> None:
    """So that the next message is a bug, whose error quotes it."""
    trigger = f"BEFORE INSERT ON conversations_message BEGIN SELECT RAISE(ABORT, 'not {SAID}'); END"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TRIGGER broken {trigger}")


def status_of(served: Served, path: str, body: object = None, *, key: str = "") -> int:
    headers = {"Authorization": f"Bearer {key or served.key}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    try:
        answer = urllib.request.urlopen(urllib.request.Request(served.site.url + path, data, headers))
    except urllib.error.HTTPError as refusal:
        answer = refusal
    with answer:
        assert len(answer.headers["X-Request-ID"]) == 32
        return int(answer.status)


def test_the_log_tells_what_happened_and_nothing_of_what_was_said(lived: tuple[str, Served]) -> None:
    form, served = lived
    assert "Traceback (most recent call last)" in served.log
    assert "IntegrityError" in served.log
    assert "could not summarise" in served.log
    for secret in (SAID, TITLE, PROVIDER_KEY, served.key, "mark-of-a-wrong-key"):
        assert secret not in served.log
    if form == "json":
        _tells_whose_work_it_is(served)
    else:
        assert "chatsite.requests" not in served.log, "people are told of what went wrong alone"
        assert "compaction ended" not in served.log


def _tells_whose_work_it_is(served: Served) -> None:
    lines = [json.loads(line) for line in served.log.splitlines() if not line.startswith("chatsite is at ")]
    for line in lines:
        assert {"timestamp", "level", "logger", "event"} <= set(line)
        assert abs((datetime.fromisoformat(line["timestamp"]) - datetime.now(UTC)).total_seconds()) < 120
    [ended] = [line for line in lines if line["event"] == "compaction ended"]
    assert (ended["trigger"], ended["status"], ended["conversation_id"]) == ("api", "succeeded", served.id)
    assert {"strategy", "summariser", "facts_found", "facts_kept", "ms"} <= set(ended)
    assert 0 < ended["after"] < ended["before"]
    requests = [line for line in lines if line["logger"] == "chatsite.requests"]
    [asked] = [line for line in requests if line["path"].endswith("/compact")]
    assert (asked["method"], asked["status"], asked["user_id"]) == ("POST", 202, 1)
    assert asked["ms"] > 0
    assert asked["request_id"] == ended["request_id"], "what is done later is known to have been asked for by it"
    [refused] = [line for line in lines if "could not summarise" in line["event"]]
    assert refused["compaction_id"] == ended["compaction_id"]
    assert refused["conversation_id"] == served.id
    replies = [line for line in lines if "reply_id" in line]
    assert {line["conversation_id"] for line in replies} == {served.id}
    assert all(line["request_id"] for line in replies)
    assert all("?" not in line["path"] for line in requests)


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [("a.Caller-7_", True), ("x" * 64, True), ("x" * 65, False), ("two words", False), ("é", False), ("", False)],
)
async def test_every_answer_has_the_requests_id(given: str, is_taken: bool) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"method": "GET", "path": "/", "headers": [(b"x-request-id", given.encode())]}
    with logs.request_logging(scope, send) as sending:
        id = str(log_context.ids()["request_id"])
        await sending({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await sending({"type": "http.response.body", "body": b""})
    assert (id == given) is is_taken
    assert sent[0]["headers"] == [(b"a", b"b"), (b"x-request-id", id.encode())]
    assert "request_id" not in log_context.ids()


@pytest.mark.parametrize("form", ["line", "json"])
def test_a_traceback_has_its_lines_and_kinds_and_no_words(form: str) -> None:
    said = StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(logs.json_formatter() if form == "json" else logs.LineFormatter())
    logger = logging.Logger("tests")
    logger.addHandler(handler)
    try:
        try:
            raise KeyError(SAID)
        except KeyError as error:
            raise ValueError(SAID) from error
    except ValueError:
        logger.exception("it failed", extra={"status": 500, "request": SAID})
    text = said.getvalue()
    assert SAID not in text
    assert "ValueError" in text
    assert "KeyError" in text.split("which came of:")[1]
    assert "test_a_traceback_has_its_lines" in text


def test_what_asyncio_says_of_a_fault_is_its_kind() -> None:
    message = f"Task exception was never retrieved\nfuture: <Task finished exception=ValueError('{SAID}')>"
    record = logging.LogRecord("asyncio", logging.ERROR, __file__, 1, message, (), None)
    assert logs.KindsOfFaults().filter(record)
    assert record.getMessage() == "Task exception was never retrieved"
    record.msg = f"Exception in callback put('{SAID}')"
    logs.KindsOfFaults().filter(record)
    assert record.getMessage() == "Exception in callback put"


def test_only_json_costs_the_library_that_writes_it() -> None:
    program = "import django, sys; django.setup(); sys.exit('structlog' in sys.modules)"
    for form, is_loaded in (("line", 0), ("json", 1)):
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings", "LOG_FORMAT": form}
        assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment).returncode == is_loaded
