"""Limits of requests and sockets over real connections, the same behind both servers: docs/limits.md lists them."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from select import select
from socket import create_connection, socket
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.conf import settings
from websockets.exceptions import ConnectionClosed

from chatsite.fair_semaphore import MAX_WAITING, SHARE
from tests.faults.serving import Served, answer_of, serving
from tests.journeys.site import ROOT
from tests.servers import wait_until

HEAD, BODY, UNREAD, REQUESTS, SOCKETS = 1.5, 2.5, 2.5, 3, 4
ONE_PERSON = int(SHARE * MAX_WAITING)
"""The most requests of one person that wait."""
LOUD = 100  # MB
KEPT = 25_000_000
"""Bytes that a process may need for one peer that does not read: the events of one queue, and some air."""
UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Version": "13",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {
        "HEAD_SECONDS": HEAD,
        "BODY_SECONDS": BODY,
        "UNREAD_SECONDS": UNREAD,
        "MAX_REQUESTS": REQUESTS,
        "MAX_SOCKETS_PER_USER": SOCKETS,
    }
    folder = tmp_path_factory.mktemp("site")
    with serving(folder, **{name: str(value) for name, value in limits.items()}) as served:
        served.llm.enqueue("hello")
        served.ask("POST", f"/api/conversations/{served.id}/messages", {"content": "what is loaded once is loaded now"})
        yield served


@pytest.fixture(autouse=True)
def alive_afterwards(served: Served) -> Iterator[None]:
    """Nothing of what is refused is stored, and the next one is served."""
    before = stored(served)
    yield
    assert stored(served) == before
    wait_until(lambda: heard(served) == 0, what="the end of every listener")


def stored(served: Served) -> list[dict[str, Any]]:
    """The messages without their tokens: how a model counts is learned as it answers."""
    items = served.ask("GET", f"/api/conversations/{served.id}/messages?limit=200")["items"]
    return [{name: value for name, value in item.items() if name != "token_count"} for item in items]


def heard(served: Served) -> int:
    return int(served.ask("GET", f"/loud/{served.id}/0")["listeners"])


def send_body(served: Served, connection: socket, *, path: str = "/api/conversations", **headers: str) -> None:
    connection.sendall(served.head("POST", path, Content_Type="application/json", **headers))


def drip(connection: socket, piece: bytes = b"x") -> None:
    """Send a byte now and then, until nobody takes it."""

    def go() -> None:
        with suppress(OSError):
            while True:
                connection.sendall(piece)
                time.sleep(0.1)

    threading.Thread(target=go, daemon=True).start()


# --- Bodies and headers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/conversations", "/api/conversations/import", "/import", "/v1/messages"])
def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(served: Served, path: str) -> None:
    with served.dial() as connection:
        send_body(served, connection, path=path, Content_Length=str(settings.MAX_BODY_BYTES + 1))
        status, headers, text = answer_of(connection)
    assert (status, headers["connection"]) == (413, "close")
    if path.startswith("/api/"):
        error = json.loads(text)["error"]
        assert (error["code"], error["detail"]) == ("body_too_large", {"field": "body", "limit": 25_000_000})
    assert "t most 25,000,000 bytes may be sent at once" in text
    assert ("Images count in full" in text) == path.startswith("/v1/")


def test_a_refusal_is_a_line_on_the_page_that_asked(served: Served) -> None:
    with served.dial() as connection:
        send_body(served, connection, path="/import", Content_Length="25000001", HX_Request="true")
        status, headers, text = answer_of(connection)
    assert (status, headers["hx-retarget"], headers["hx-reswap"]) == (413, "#alert", "innerHTML")
    assert text.startswith("<p>At most 25,000,000 bytes may be sent at once.")


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_who_sends_it_all_the_same_reads_the_answer_and_takes_no_memory(served: Served, chunked: bool) -> None:
    before, piece = served.memory, b"x" * 1_000_000
    with served.dial() as connection:
        if chunked:
            send_body(served, connection, Transfer_Encoding="chunked")
            piece = b"%x\r\n%b\r\n" % (len(piece), piece)
        else:
            send_body(served, connection, Content_Length="60000000")
        for _ in range(60):
            connection.sendall(piece)
        assert answer_of(connection)[0] == 413
    assert served.memory - before < KEPT


@pytest.mark.parametrize("part", ["headers", "body"])
def test_what_arrives_too_slowly_is_given_up_as_a_whole(served: Served, part: str) -> None:
    began = time.monotonic()
    with served.dial() as connection:
        if part == "body":
            send_body(served, connection, Content_Length="1000")
        else:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        drip(connection)
        status, _, text = answer_of(connection)
        assert (status, f"did not arrive within {HEAD if part == 'headers' else BODY:g} seconds" in text) == (408, True)
    assert time.monotonic() - began < BODY + 2


def test_a_file_of_the_pages_comes_whole_and_compressed(served: Served) -> None:
    request = Request(f"{served.site.url}/static/chat.css", headers={"Accept-Encoding": "gzip"})
    with urlopen(request, timeout=10) as answer:
        body = answer.read()
        assert (answer.headers["Content-Encoding"], answer.headers["Content-Length"]) == ("gzip", str(len(body)))
        assert answer.headers["Cache-Control"] == "max-age=300, public"
    assert gzip.decompress(body) == (ROOT / "static/chat.css").read_bytes()


def test_pages_that_are_left_at_any_moment_log_no_fault(served: Served) -> None:
    """Once at each third of a millisecond, from its first to its fiftieth millisecond."""
    for number in range(150):
        with served.dial() as connection:
            connection.sendall(served.head("GET", "/search?q=port", Cookie=served.cookie, Authorization=""))
            time.sleep(number / 3_000)
    wait_until(lambda: served.ask("GET", f"/api/conversations/{served.id}")["id"] == served.id, what="an answer")
    assert "ERROR" not in served.log


def test_a_connection_that_says_nothing_is_closed(served: Served) -> None:
    with served.dial() as connection:
        assert connection.recv(1) == b""


@pytest.mark.parametrize("line", ["X-%d: %s\r\n", "%.0s%s"], ids=["many headers", "one line"])
def test_headers_without_end_are_refused(served: Served, line: str) -> None:
    before = served.memory
    with served.dial() as connection:
        with suppress(OSError):  # closed while it is sent
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
            for number in range(50_000):
                connection.sendall((line % (number, "x" * 1_000)).encode())
        with suppress(OSError):
            assert connection.recv(12) in (b"", b"HTTP/1.1 400", b"HTTP/1.1 431")
    assert served.memory - before < KEPT


def test_a_form_of_too_many_fields_is_400(served: Served) -> None:
    fields = "&".join(f"a{number}=1" for number in range(1_001)).encode()
    form = "application/x-www-form-urlencoded"
    with served.dial() as connection:
        length = str(len(fields))
        connection.sendall(
            served.head("POST", "/accounts/login/", Content_Type=form, Content_Length=length, Cookie=served.cookie)
        )
        connection.sendall(fields)
        status, _, text = answer_of(connection)
    assert (status, "more fields or files than the pages" in text) == (400, True)


# --- Requests at once -------------------------------------------------------------------------------------------------


def test_requests_wait_for_their_turn_and_too_many_are_told_so(served: Served) -> None:
    rows = [served.ask("POST", "/api/conversations", {"title": "busy"})["id"] for _ in range(REQUESTS)]
    served.llm.clear()
    served.llm.enqueue("word " * 60, drip=0.05, times=REQUESTS)
    with ThreadPoolExecutor() as pool, ExitStack() as opened:
        waiting = [
            pool.submit(served.ask, "POST", f"/api/conversations/{id}/messages", {"content": "?"}) for id in rows
        ]
        served.llm.wait_for(lambda llm: len(llm.chats) == REQUESTS)
        crowd = []
        for _ in range(ONE_PERSON + 1):
            crowd.append(opened.enter_context(served.dial()))
            crowd[-1].sendall(served.head("GET", "/api/conversations?limit=1"))
        wait_until(lambda: any(map(has_answer, crowd)), what="a refusal")
        (late,) = filter(has_answer, crowd)
        status, headers, text = answer_of(late)
        assert (status, headers["retry-after"], json.loads(text)["error"]["code"]) == (503, "5", "busy")
        assert not any(reply.done() for reply in waiting)
        assert [answer_of(connection)[0] for connection in crowd if connection is not late] == [200] * ONE_PERSON
        assert [reply.result()["assistant_message"]["status"] for reply in waiting] == ["complete"] * REQUESTS


def has_answer(connection: socket) -> bool:
    return bool(select([connection], [], [], 0)[0])


def test_many_large_bodies_at_once_wait_or_are_told_to_come_again(served: Served) -> None:
    before, body = served.memory, json.dumps({"title": "x", "nothing": "x" * 10_000_000}).encode()

    def send(_: int) -> int:
        with served.dial() as connection:
            send_body(served, connection, Content_Length=str(len(body)))
            connection.sendall(body)
            return answer_of(connection)[0]

    with ThreadPoolExecutor(12) as pool:
        statuses = set(pool.map(send, range(24)))
    assert {400} <= statuses <= {400, 503}  # there is no such field
    assert served.memory - before < 40 * len(body)


# --- Sockets ----------------------------------------------------------------------------------------------------------


def closing_code(socket: Any) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


def frames(payload: bytes) -> bytes:
    """A thousand parts of a message that does not end, masked with zeros."""
    head = bytes([0x00, 0x80 | len(payload)])
    return (head + bytes(4) + payload) * 1_000


@pytest.mark.parametrize(("frame", "code"), [("x" * 65_537, 1009), (b"x", 4003)], ids=["too large", "bytes"])
def test_a_frame_of_the_wrong_kind_closes_the_socket(served: Served, frame: str | bytes, code: int) -> None:
    with served.open_socket() as socket:
        socket.send(frame)
        assert closing_code(socket) == code


def test_nothing_is_unpacked_so_that_no_bomb_of_compression_is(served: Served) -> None:
    with served.open_socket(compression="deflate") as socket:
        assert socket.protocol.extensions == []
        socket.socket.sendall(bytes([0xC1, 0x80 | 8]) + bytes(4) + b"squeezed")
        assert closing_code(socket) == 1002


@pytest.mark.parametrize("payload", [b"x" * 100, b""], ids=["small", "empty"])
def test_a_message_of_endless_fragments_closes_the_socket(served: Served, payload: bytes) -> None:
    with served.open_socket(compression=None) as socket:
        socket.socket.sendall(bytes([0x01, 0x80]) + bytes(4) + frames(payload) + frames(payload))
        assert closing_code(socket) == 1009


def test_a_text_that_is_not_utf_8_closes_the_socket_without_a_word_in_the_log(served: Served) -> None:
    for parts in (b"\x81\x82", b"\x01\x81" + bytes(4) + b"\xff" + b"\x80\x81"):
        with served.open_socket(compression=None) as socket:
            socket.socket.sendall(parts + bytes(4) + b"\xff" * (parts[-1] & 3))
            assert closing_code(socket) == 1007
    assert "UTF-8" not in served.log


def test_a_flood_closes_the_socket(served: Served) -> None:
    with served.open_socket() as socket:
        with suppress(ConnectionClosed):
            for _ in range(1_000):
                socket.send("x")
        assert closing_code(socket) == 4008


def test_a_person_has_so_many_sockets_and_the_page_still_works(served: Served) -> None:
    with ExitStack() as opened:
        others = [opened.enter_context(served.open_socket()) for _ in range(SOCKETS)]
        with served.open_socket() as one_more:
            assert closing_code(one_more) == 4008
        served.ask("PATCH", f"/api/conversations/{served.id}", {"title": "told"})
        assert all("told" in socket.recv(timeout=5) for socket in others)
        page = Request(f"{served.site.url}/c/{served.id}/thread?version=0", headers={"Cookie": served.cookie})
        assert "told" in urlopen(page, timeout=5).read().decode()
    wait_until(lambda: heard(served) == 0, what="the end of the sockets")
    with served.open_socket() as socket:
        served.ask("PATCH", f"/api/conversations/{served.id}", {"title": "again"})
        assert "again" in socket.recv(timeout=5)


# --- Who does not read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["socket", "stream"])
def test_a_peer_that_never_reads_takes_little_memory_and_is_given_up(served: Served, kind: str) -> None:
    with (deaf_socket if kind == "socket" else deaf_stream)(served) as connection:
        wait_until(lambda: heard(served) == 1, what="its listener")
        before, began, peak = served.memory, time.monotonic(), 0
        with ThreadPoolExecutor() as pool:
            telling = pool.submit(served.ask, "GET", f"/loud/{served.id}/{LOUD}")
            while not telling.done():
                peak = max(peak, served.memory - before)
                time.sleep(0.05)
            telling.result()
        wait_until(lambda: heard(served) == 0, what="the end of its listener", seconds=UNREAD + 10)
        assert time.monotonic() - began > UNREAD
        assert peak < KEPT
        with pytest.raises(ConnectionResetError):
            while connection.recv(65_536):
                pass


@pytest.mark.long
def test_pings_of_a_peer_that_never_reads_are_not_answered_without_end(served: Served) -> None:
    before, pings = served.memory, (bytes([0x89, 0x80 | 125]) + bytes(4) + b"p" * 125) * 1_000
    with deaf_socket(served) as connection, pytest.raises(OSError, match=r"timed out|reset|pipe"):
        for _ in range(1_000):
            connection.sendall(pings)
    assert served.memory - before < KEPT


@pytest.mark.long
def test_a_stream_whose_reader_goes_away_is_listened_to_no_more(served: Served) -> None:
    with deaf_stream(served):
        wait_until(lambda: heard(served) == 1, what="its listener")
    wait_until(lambda: heard(served) == 0, what="the end of its listener", seconds=10)


@contextmanager
def deaf_socket(served: Served) -> Iterator[socket]:
    headers = UPGRADE | {"Cookie": served.cookie, "Origin": served.site.url}
    with served.dial(buffer=4_096) as connection:
        connection.sendall(served.head("GET", f"/ws/conversations/{served.id}/", **headers))
        assert b" 101 " in connection.recv(1_024)
        yield connection


@contextmanager
def deaf_stream(served: Served) -> Iterator[socket]:
    """A streamed reply, which is in another conversation's place afterwards: nothing of it is left."""
    served.llm.enqueue("word " * 400, drip=0.05)
    kept, served.id = served.id, served.ask("POST", "/api/conversations", {"title": "stream"})["id"]
    body = json.dumps({"content": "?", "stream": True}).encode()
    try:
        with served.dial(buffer=4_096) as connection:
            send_body(
                served, connection, path=f"/api/conversations/{served.id}/messages", Content_Length=str(len(body))
            )
            connection.sendall(body)
            yield connection
    finally:
        served.ask("DELETE", f"/api/conversations/{served.id}")
        served.id = kept


# --- Requests that cannot be read -------------------------------------------------------------------------------------

FORM = "Content-Type: application/x-www-form-urlencoded; charset=utf-7\r\n"
PARTS = "Content-Type: multipart/form-data\r\n"
FROM_NOWHERE = "HX-Request: true\r\nHX-Current-URL: http://[::1\r\n"


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/settings/theme", FORM, 400),
        ("/settings/theme", PARTS, 400),
        ("/nowhere", FORM, 404),
        ("/nowhere", PARTS, 404),
        ("/settings/theme", FROM_NOWHERE, 200),
    ],
    ids=["charset", "no boundary", "charset, unknown page", "no boundary, unknown page", "sent by no page"],
)
def test_a_request_that_cannot_be_read_is_no_fault_of_the_server(
    served: Served, path: str, header: str, status: int
) -> None:
    """Without a session: a page that htmx asks for is sent to the sign-in."""
    token, port = "t" * 32, served.site.port
    head = f"Host: 127.0.0.1:{port}\r\nCookie: csrftoken={token}\r\nX-CSRFToken: {token}\r\n{header}"
    with create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\n{head}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        assert connection.recv(65_536)[9:12] == str(status).encode()
    assert "Traceback" not in served.log
