"""Events of a conversation over real connections: many at once, cut within a reply, across the end of the server."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from tests.faults.serving import SERVERS, Served, serving
from tests.servers import wait_until

REQUESTS, STREAMS = 4, 20
WORDS = "".join(f"word{number} " for number in range(80))


@pytest.fixture(scope="module", params=SERVERS)
def served(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"MAX_REQUESTS": str(REQUESTS), "MAX_SOCKETS_PER_USER": str(STREAMS)}
    with serving(request.param, tmp_path_factory.mktemp(request.param), **limits) as served:
        yield served


@pytest.fixture(autouse=True)
def in_a_new_conversation(served: Served) -> None:
    served.llm.clear()
    served.id = served.ask("POST", "/api/conversations", {})["id"]


class Stream:
    """A program's connection, read line by line."""

    def __init__(self, served: Served, *, last: str = "") -> None:
        self.connection = HTTPConnection("127.0.0.1", served.site.port, timeout=20)
        headers = {"Authorization": f"Bearer {served.key}"} | ({"Last-Event-ID": last} if last else {})
        self.connection.request("GET", f"/api/conversations/{served.id}/events", headers=headers)
        self.response: HTTPResponse = self.connection.getresponse()
        self.last, self.types, self.text = last, list[str](), ""

    def until(self, *types: str) -> dict[str, Any]:
        while True:
            type, data = self.next()
            if type in types:
                return data

    def next(self) -> tuple[str, dict[str, Any]]:
        """The next event; raises EOFError at the end of the stream."""
        fields: dict[str, str] = {}
        while "data" not in fields:
            line = self.response.readline().decode()
            if not line:
                raise EOFError
            name, _, value = line.strip().partition(": ")
            fields[name] = value
        self.last = fields["id"]
        self.types.append(fields["event"])
        data = json.loads(fields["data"])
        if fields["event"] == "message.delta":
            self.text += data["text"]
        return fields["event"], data

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()


def heard(served: Served) -> int:
    return int(served.ask("GET", f"/loud/{served.id}/0")["listeners"])


def say(served: Served, text: str = "?") -> None:
    """Have a reply begun, and leave before its first word."""
    body = json.dumps({"content": text, "stream": True}).encode()
    with served.dial() as connection:
        path, length = f"/api/conversations/{served.id}/messages", str(len(body))
        connection.sendall(served.head("POST", path, Content_Type="application/json", Content_Length=length) + body)
        connection.recv(100)


def test_open_streams_take_no_place_of_a_request(served: Served) -> None:
    with ExitStack() as opened:
        streams = [opened.enter_context(Stream(served)) for _ in range(STREAMS)]
        for stream in streams:
            stream.until("usage.updated")
        assert heard(served) == STREAMS > REQUESTS
        with Stream(served) as one_more:
            assert (one_more.response.status, one_more.response.headers["Retry-After"]) == (429, "5")
        assert served.ask("POST", f"/api/conversations/{served.id}/messages", {"content": "?"}, timeout=5)
        assert all(stream.until("message.done")["message"]["status"] == "complete" for stream in streams)
    wait_until(lambda: heard(served) == 0, what="the end of the streams")
    with Stream(served) as stream:
        stream.until("usage.updated")


def test_a_reply_goes_on_where_the_connection_was_cut(served: Served) -> None:
    served.llm.enqueue(WORDS, drip=0.01)
    with Stream(served) as first:
        first.until("usage.updated")
        say(served)
        while len(first.text) < 100:
            first.next()
    time.sleep(0.1)
    with Stream(served, last=first.last) as second:
        done = second.until("message.done")
    assert "message.created" not in second.types
    assert first.text + second.text == done["message"]["content"] == WORDS


def test_a_server_that_stops_ends_its_streams_at_once_and_the_next_one_goes_on(served: Served) -> None:
    with Stream(served) as first:
        first.until("usage.updated")
        served.ask("POST", f"/api/conversations/{served.id}/messages", {"content": "first"})
        first.until("message.done")
        began = time.monotonic()
        served.site.process.send_signal(signal.SIGINT)
        with pytest.raises(EOFError):
            first.until("never")
        assert time.monotonic() - began < 1
        served.site.process.wait(10)
        assert time.monotonic() - began < 3
    served.site.log.close()
    served.site.start()
    served.ask("POST", f"/api/conversations/{served.id}/messages", {"content": "second"})
    with Stream(served, last=first.last) as again:
        assert again.until("message.created")["message"]["content"] == "second"
        again.until("usage.updated")
    assert again.types == ["message.created", "message.created", "message.done", "usage.updated"]
