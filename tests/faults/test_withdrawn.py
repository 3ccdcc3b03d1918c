"""Sockets and streams that are open end once nobody would let them in any more, behind both servers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.faults.serving import SERVERS, Served, serving
from tests.furnishing import TOKEN
from tests.journeys.site import ROOT

WITHIN = 5
SIGNED_OUT = 4401


@pytest.fixture(params=SERVERS)
def served(request: Any, tmp_path: Any) -> Iterator[Served]:
    with serving(request.param, tmp_path) as served:
        yield served


def afar(served: Served, code: str) -> None:
    """Another process changes the database: it tells nobody."""
    program = f"import django; django.setup()\nfrom conversations.models import *\n{code}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | served.site.environment)
    assert done.returncode == 0


def disable(served: Served) -> None:
    afar(served, "from django.contrib.auth.models import User; User.objects.update(is_active=False)")


def set_password(served: Served) -> None:
    afar(served, "from django.contrib.auth.models import User; User.objects.update(password='another')")


def sign_out(served: Served) -> None:
    headers = {"Cookie": served.cookie, "X-CSRFToken": TOKEN, "Referer": served.site.url}
    urllib.request.urlopen(urllib.request.Request(served.site.url + "/accounts/logout/", b"", headers)).read()


def revoke(served: Served) -> None:
    afar(served, "from django.utils import timezone; ApiKey.objects.update(revoked_at=timezone.now())")


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
    served.llm.enqueue("word " * 400, drip=0.1)
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
    served.llm.enqueue("word " * 400, drip=0.1)
    with asked(served, "POST", f"/api/conversations/{served.id}/messages", '{"content": "?"}') as connection:
        served.llm.wait_for(lambda llm: len(llm.chats) == 1)
        revoke(served)
        began = time.monotonic()
        with connection.getresponse() as response:
            assert (response.status, b"taken back" in response.read()) == (401, True)
        assert time.monotonic() - began < WITHIN


def test_what_is_still_let_in_stays_open(served: Served) -> None:
    with served.open_socket() as socket:
        sign_in_elsewhere = "from django.contrib.auth.models import User; User.objects.create_user('bob', password='x')"
        afar(served, sign_in_elsewhere)
        time.sleep(2 * 3 + 1)  # two looks
        served.ask("PATCH", f"/api/conversations/{served.id}", {"title": "still told"})
        assert "still told" in socket.recv(timeout=WITHIN)
