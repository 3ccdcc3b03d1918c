"""A served site: what only shows over real sockets and real connections."""

from __future__ import annotations

import http.cookiejar
import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.journeys.site import Site
from tests.llm_server import LlmServer


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("served")
    with LlmServer() as llm, Site(folder, llm_url=llm.url) as site:
        key = made_account(site, folder)
        conversation = asked(site, key, "POST", "/api/conversations", {"title": "t"})["id"]
        yield {"site": site, "key": key, "id": conversation, "folder": folder, "cookie": signed_in(site)}
        assert "Traceback" not in (folder / "serve.log").read_text()


def made_account(site: Site, folder: Path) -> str:
    manage = [sys.executable, "manage.py"]
    environment = site.environment | {"DJANGO_SUPERUSER_PASSWORD": "correct horse battery"}
    make = [*manage, "createsuperuser", "--noinput", "--username", "alice", "--email", "a@example.org"]
    subprocess.run(make, env=environment, check=True, capture_output=True)
    key = subprocess.run([*manage, "create_api_key", "alice"], env=environment, check=True, capture_output=True)
    return key.stdout.decode().strip()


def signed_in(site: Site) -> str:
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    browser.open(site.url + "/accounts/login/").read()
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    form = {"username": "alice", "password": "correct horse battery", "csrfmiddlewaretoken": token}
    browser.open(site.url + "/accounts/login/", urllib.parse.urlencode(form).encode()).read()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def asked(site: Site, key: str, method: str, path: str, body: object = None) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(site.url + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def opened(served: dict[str, Any], path: str = "", **how: Any) -> Any:
    site = served["site"]
    url = site.url.replace("http", "ws") + (path or f"/ws/conversations/{served['id']}/")
    headers = {"Cookie": served["cookie"]}
    return connect(url, additional_headers=headers, **{"origin": site.url} | how)


def test_a_turn_goes_through_over_a_real_connection(served: dict[str, Any]) -> None:
    path = f"/api/conversations/{served['id']}/messages"
    answer = asked(served["site"], served["key"], "POST", path, {"content": "hello"})
    assert answer["assistant_message"]["status"] == "complete"


def test_a_page_that_goes_away_while_a_reply_streams_is_no_error(served: dict[str, Any]) -> None:
    with opened(served) as socket:
        socket.close_socket()
    test_a_turn_goes_through_over_a_real_connection(served)


@pytest.mark.parametrize(("frame", "code"), [(b"\0", 4003), ("x", 4008)])
def test_bytes_and_floods_close_a_real_socket(served: dict[str, Any], frame: bytes | str, code: int) -> None:
    with opened(served) as socket, pytest.raises(ConnectionClosed) as closed:
        for _ in range(60):
            socket.send(frame)
        while True:
            socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


@pytest.mark.parametrize("origin", ["http://127.0.0.1:9", "http://evil.example", "null", None])
def test_another_origin_cannot_listen_not_even_from_another_port(served: dict[str, Any], origin: str | None) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), opened(served, origin=origin):
        pass


@pytest.mark.parametrize("path", ["/ws/foo/", "/ws/conversations/x/", "/"])
def test_an_unknown_socket_is_denied(served: dict[str, Any], path: str) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), opened(served, path):
        pass


def test_a_wrong_host_is_refused_without_a_traceback(served: dict[str, Any]) -> None:
    request = urllib.request.Request(served["site"].url + "/healthz", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=10)


def test_deleting_a_long_conversation_holds_nobody_up(served: dict[str, Any]) -> None:
    talk = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(8_000)]
    body = {"title": "long", "messages": talk}
    [row] = asked(served["site"], served["key"], "POST", "/api/conversations/import", body)["conversations"]
    began = time.monotonic()
    asked(served["site"], served["key"], "DELETE", f"/api/conversations/{row['id']}")
    assert time.monotonic() - began < 5
