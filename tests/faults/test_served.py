"""A served site, by either of its servers: what only shows over real sockets and real connections."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.faults.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site")) as served:
        yield served


def test_a_turn_goes_through_over_a_real_connection(served: Served) -> None:
    path = f"/api/conversations/{served.id}/messages"
    answer = served.ask("POST", path, {"content": "hello"})
    assert answer["assistant_message"]["status"] == "complete"


def test_a_page_that_goes_away_while_a_reply_streams_is_no_error(served: Served) -> None:
    with served.open_socket() as socket:
        socket.close_socket()
    test_a_turn_goes_through_over_a_real_connection(served)


@pytest.mark.parametrize(("frame", "code"), [(b"\0", 4003), ("x", 4008)])
def test_bytes_and_floods_close_a_real_socket(served: Served, frame: bytes | str, code: int) -> None:
    with served.open_socket() as socket, pytest.raises(ConnectionClosed) as closed:
        for _ in range(60):
            socket.send(frame)
        while True:
            socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


@pytest.mark.parametrize("origin", ["http://127.0.0.1:9", "http://evil.example", "null", None])
def test_another_origin_cannot_listen_not_even_from_another_port(served: Served, origin: str | None) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), served.open_socket(origin=origin):
        pass


@pytest.mark.parametrize("path", ["/ws/foo/", "/ws/conversations/x/", "/"])
def test_an_unknown_socket_is_denied(served: Served, path: str) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), served.open_socket(path):
        pass


def test_a_wrong_host_is_refused_without_a_traceback(served: Served) -> None:
    request = urllib.request.Request(served.site.url + "/healthz", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=10)


@pytest.mark.long
def test_deleting_a_long_conversation_holds_nobody_up(served: Served) -> None:
    talk = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(8_000)]
    body = {"title": "long", "messages": talk}
    [row] = served.ask("POST", "/api/conversations/import", body)["conversations"]
    began = time.monotonic()
    served.ask("DELETE", f"/api/conversations/{row['id']}")
    assert time.monotonic() - began < 5
