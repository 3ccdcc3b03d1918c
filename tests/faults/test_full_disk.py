"""A disk that is full: each request is refused in words, nothing is half stored, and with room again all goes on."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest
from django.db import DatabaseError, OperationalError

from conversations.runtime.database import DatabaseNotWritable, refusal_of
from tests.faults.serving import Served, serving
from tests.furnishing import TOKEN
from tests.servers import wait_until

LEASE_SECONDS = 2


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site"), LEASE_SECONDS=str(LEASE_SECONDS)) as site:
        yield site


@contextmanager
def full(served: Served, room: int = 0) -> Iterator[None]:
    """A write-ahead log that grows by at most `room` bytes more, as on a full disk: the kernel refuses the rest."""
    most = (served.site.data / "chatsite.sqlite3-wal").stat().st_size + room
    before = resource.prlimit(served.site.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(served.site.process.pid, resource.RLIMIT_FSIZE, before)


def say(served: Served, id: str, content: str) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {served.key}"}
    address = f"{served.site.url}/api/conversations/{id}/messages"
    return httpx2.post(address, json={"content": content}, headers=headers, timeout=60)


def contents(served: Served, id: str) -> list[str]:
    return [row["content"] for row in served.ask("GET", f"/api/conversations/{id}/messages")["items"]]


def test_a_message_for_which_there_is_no_room_is_refused_and_nothing_is_stored(served: Served) -> None:
    id = served.ask("POST", "/api/conversations", {"title": "full"})["id"]
    assert say(served, id, "before").status_code == 201
    before = contents(served, id)
    with full(served):
        refused = say(served, id, "more " * 2_000)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60"), refused.text
        assert json.loads(refused.text)["error"]["code"] == "not_writable"
        assert contents(served, id) == before
        assert served.ask("GET", "/healthz")
    assert "Traceback" not in served.log
    assert say(served, id, "after").status_code == 201
    assert contents(served, id)[-2] == "after"


def test_the_page_says_so_in_its_alert(served: Served) -> None:
    headers = {"Cookie": served.cookie, "X-CSRFToken": TOKEN, "HX-Request": "true", "Referer": served.site.url}
    address = f"{served.site.url}/c/{served.id}/send"
    with full(served):
        refused = httpx2.post(address, data={"content": "more " * 2_000}, headers=headers, timeout=60)
    assert (refused.status_code, refused.headers["hx-retarget"]) == (503, "#alert"), refused.text
    assert refused.headers["retry-after"] == "60"
    assert "full or read-only" in refused.text


@pytest.mark.long
def test_a_reply_that_cannot_be_stored_is_written_again_once_there_is_room(served: Served) -> None:
    id = served.ask("POST", "/api/conversations", {"title": "long"})["id"]
    served.llm.enqueue("word " * 1_000, drip=0.002)
    served.llm.enqueue("Whole now.", times=3)
    with ThreadPoolExecutor() as pool:
        said = pool.submit(say, served, id, "go on")
        wait_until(lambda: contents(served, id), what="the message")
        with full(served):
            wait_until(lambda: "task answer: the database cannot be used" in served.log, what="the last attempt")
        said.result()
    wait_until(lambda: contents(served, id) == ["go on", "Whole now."], what="the reply")
    assert "Traceback" not in served.log


@pytest.mark.parametrize(
    "fault",
    [
        OperationalError("database or disk is full"),
        OperationalError("disk I/O error"),
        OperationalError("attempt to write a readonly database"),
        DatabaseError('could not extend file "base/1/2": No space left on device'),
        DatabaseError("cannot execute INSERT in a read-only transaction"),
    ],
)
def test_what_cannot_be_written_is_told_from_other_faults(fault: Exception) -> None:
    assert isinstance(refusal_of(fault), DatabaseNotWritable)
    assert refusal_of(DatabaseError("no such table: x")) is None
