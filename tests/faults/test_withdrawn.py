"""Sockets and streams that are open end once nobody would let them in any more, behind both servers."""

from __future__ import annotations

import sqlite3
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection

import pytest
from websockets.exceptions import ConnectionClosed

from tests.faults.serving import Served, serving
from tests.furnishing import TOKEN

WITHIN = 5
SIGNED_OUT = 4401


GIVEN_BACK = ("auth_user", "django_session", "conversations_apikey")
"""The tables that hold what may be withdrawn."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture
def served(site: Served) -> Iterator[Served]:
    """The site with a conversation of its own for each test; what a test withdraws is given back after it."""
    with database(site) as rows:
        kept = {table: rows.execute(f"SELECT * FROM {table}").fetchall() for table in GIVEN_BACK}
    yield replace(site, id=site.ask("POST", "/api/conversations", {"title": "t"})["id"])
    with database(site) as rows:
        for table, before in kept.items():
            marks = ", ".join("?" * len(before[0]))
            rows.executemany(f"REPLACE INTO {table} VALUES ({marks})", before)


@contextmanager
def database(served: Served) -> Iterator[sqlite3.Connection]:
    """The site's database, written by another process, which tells nobody."""
    with closing(sqlite3.connect(served.site.data / "chatsite.sqlite3", timeout=20)) as connection, connection:
        yield connection


def disable(served: Served) -> None:
    with database(served) as rows:
        rows.execute("UPDATE auth_user SET is_active = 0")


def set_password(served: Served) -> None:
    with database(served) as rows:
        rows.execute("UPDATE auth_user SET password = 'another'")


def sign_out(served: Served) -> None:
    headers = {"Cookie": served.cookie, "X-CSRFToken": TOKEN, "Referer": served.site.url}
    urllib.request.urlopen(urllib.request.Request(served.site.url + "/accounts/logout/", b"", headers)).read()


def revoke(served: Served) -> None:
    with database(served) as rows:
        rows.execute("UPDATE conversations_apikey SET revoked_at = CURRENT_TIMESTAMP")


def seconds_to_end(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


@pytest.mark.parametrize("withdraw", [disable, set_password, sign_out])
def test_a_socket_is_closed_with_what_leads_to_the_sign_in(served: Served, withdraw: Callable[..., None]) -> None:
    with served.open_socket() as kept:
        withdraw(served)
        with pytest.raises(ConnectionClosed) as closed:
            kept.recv(timeout=WITHIN)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == SIGNED_OUT
    with served.open_socket() as again, pytest.raises(ConnectionClosed) as denied:
        again.recv(timeout=WITHIN)
    assert denied.value.rcvd is not None and denied.value.rcvd.code == SIGNED_OUT


@contextmanager
def asked(served: Served, method: str, path: str, body: str = "") -> Iterator[HTTPConnection]:
    """A connection with a request on it, whose answer has not been read."""
    with closing(HTTPConnection("127.0.0.1", served.site.port, timeout=20)) as connection:
        headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
        connection.request(method, path, body.encode() or None, headers)
        yield connection


@pytest.mark.parametrize("withdraw", [disable, revoke])
@pytest.mark.parametrize("kind", ["events", "reply", "gateway"])
def test_a_stream_ends(served: Served, kind: str, withdraw: Callable[..., None]) -> None:
    served.llm.enqueue("word " * 100, drip=0.1)
    here = f"/api/conversations/{served.id}"
    call = '{"model": "scripted", "stream": true, "messages": [{"role": "user", "content": "?"}]}'
    request = {
        "events": ("GET", f"{here}/events", ""),
        "reply": ("POST", f"{here}/messages", '{"content": "?", "stream": true}'),
        "gateway": ("POST", "/v1/chat/completions", call),
    }[kind]
    with asked(served, *request) as connection, connection.getresponse() as response:
        assert response.status == 200 and response.readline()
        withdraw(served)
        assert seconds_to_end(response.read) < WITHIN


def test_a_call_that_waits_for_its_reply_is_told_why_it_ends(served: Served) -> None:
    served.llm.enqueue("word " * 100, drip=0.1)
    earlier = len(served.llm.chats)
    with asked(served, "POST", f"/api/conversations/{served.id}/messages", '{"content": "?"}') as connection:
        served.llm.wait_for(lambda llm: len(llm.chats) == earlier + 1)
        revoke(served)
        began = time.monotonic()
        with connection.getresponse() as response:
            assert (response.status, b"taken back" in response.read()) == (401, True)
        assert time.monotonic() - began < WITHIN


@pytest.mark.long
def test_what_is_still_let_in_stays_open(served: Served) -> None:
    with served.open_socket() as socket:
        with database(served) as rows:
            rows.execute("UPDATE auth_user SET last_login = CURRENT_TIMESTAMP")
        time.sleep(2 * 3 + 1)  # two looks
        served.ask("PATCH", f"/api/conversations/{served.id}", {"title": "still told"})
        assert "still told" in socket.recv(timeout=WITHIN)
