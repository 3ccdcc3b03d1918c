"""A server that is told to stop while people ask for pages: a request that it cuts off holds it up for no time."""

from __future__ import annotations

import http.client
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.faults.serving import serving
from tests.journeys.site import Site

PEOPLE, ROUNDS = 8, 4
STOPS_IN = 15


@pytest.mark.long
def test_a_server_stops_while_pages_are_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path, STOP_GRACE_SECONDS="0") as served:
        for number in range(ROUNDS):
            if number:
                served.site.start()
            with reading(served.site):
                time.sleep(1)
                served.site.process.send_signal(signal.SIGINT)
                served.site.process.wait(STOPS_IN)
        assert "Traceback" not in served.log


@contextmanager
def reading(site: Site) -> Iterator[None]:
    """People who read one page after the other, for as long as there is one."""
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.01):
            with suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=5)
                for _ in range(20):
                    connection.request("GET", "/accounts/login/")
                    connection.getresponse().read()

    people = [threading.Thread(target=read) for _ in range(PEOPLE)]
    for person in people:
        person.start()
    try:
        yield
    finally:
        over.set()
        for person in people:
            person.join()
