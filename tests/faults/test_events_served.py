"""Events of a conversation over real connections: many at once, cut within a reply, across the end of the server."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cluster import Cluster
from tests.faults.serving import Served, serving
from tests.furnishing import key_of_alice
from tests.llm_server import LlmServer
from tests.servers import postgres, redis, wait_until

REQUESTS, STREAMS = 4, 20
WORDS = "".join(f"word{number} " for number in range(80))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"MAX_REQUESTS": str(REQUESTS), "MAX_SOCKETS_PER_USER": str(STREAMS)}
    with serving(tmp_path_factory.mktemp("site"), **limits) as served:
        yield served


def begin(served: Served) -> None:
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


@pytest.mark.long
def test_open_streams_take_no_place_of_a_request(served: Served) -> None:
    begin(served)
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


@pytest.mark.long
def test_a_reply_goes_on_where_the_connection_was_cut(served: Served) -> None:
    begin(served)
    served.llm.enqueue(WORDS, drip=0.01)
    with Stream(served) as first:
        first.until("usage.updated")
        say(served)
        while len(first.text) < 100:
            first.next()
    wait_until(lambda: heard(served) == 0, what="the end of the first stream")
    with Stream(served, last=first.last) as second:
        done = second.until("message.done")
    assert "message.created" not in second.types
    assert first.text + second.text == done["message"]["content"] == WORDS


@pytest.mark.long
def test_a_server_that_stops_ends_its_streams_at_once(served: Served) -> None:
    """Last: it is gone afterwards."""
    begin(served)
    with Stream(served) as stream:
        stream.until("usage.updated")
        began = time.monotonic()
        served.site.process.send_signal(signal.SIGINT)
        with pytest.raises(EOFError):
            stream.until("never")
        assert time.monotonic() - began < 3
        served.site.process.wait(10)
        assert time.monotonic() - began < 8


@pytest.mark.long
def test_a_program_goes_on_at_any_process_of_a_site_and_after_a_restart(tmp_path: Path, llm: LlmServer) -> None:
    with (
        postgres() as database,
        redis() as broker,
        Cluster(tmp_path, database_url=database, redis_url=broker.url, llm_url=llm.url) as cluster,
    ):
        key = key_of_alice(cluster.environment)
        writer, other = (
            Served(SimpleNamespace(port=port, url=cluster.url(name)), llm, key)  # type: ignore[arg-type]
            for name, port in cluster.ports.items()
        )
        begin(writer)
        other.id = writer.id
        llm.enqueue(WORDS, drip=0.04)
        text, last, types = "", "", list[str]()
        with Stream(other) as stream:
            stream.until("usage.updated")
            say(writer)
            stream.until("message.delta")
            text, last, types = stream.text, stream.last, stream.types
        for served in (other, writer, other, writer):
            with Stream(served, last=last) as stream:
                stream.until("message.delta")
                text, last, types = text + stream.text, stream.last, types + stream.types
        cluster.kill("web1", signal.SIGTERM)
        cluster.start("web1")
        with Stream(other, last=last) as stream:
            done = stream.until("message.done")
            # A reply that has ended before the other process is there again is told whole, without its last words.
            assert done["message"]["content"] == WORDS
            assert WORDS.startswith(text + stream.text)
            assert types.count("message.created") == 2
            assert "resync" not in types + stream.types
