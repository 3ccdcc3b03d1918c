"""What strangers send at once, behind both servers: it holds up neither pages nor probes, and takes little memory."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.faults.serving import Served, answer_of, serving
from tests.furnishing import TOKEN

FORM = "application/x-www-form-urlencoded"
WRONG_A_MINUTE = 30
QUICK = {"DJANGO_SETTINGS_MODULE": "tests.faults.quick_hashing"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site"), FORWARDED_ALLOW_IPS="127.0.0.1") as served:
        yield served


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Served]:
    """A site on which an attempt to sign in takes no time."""
    with serving(tmp_path, FORWARDED_ALLOW_IPS="127.0.0.1", **QUICK) as served:
        yield served


def sign_in(served: Served, name: str, *, address: str = "", size: int = 0) -> tuple[int, dict[str, str], str]:
    """A wrong attempt, as a proxy passes it on."""
    fields = {"username": name, "password": "wrong", "csrfmiddlewaretoken": TOKEN, "more": "x" * size}
    body = urlencode(fields).encode()
    headers = {"Cookie": f"csrftoken={TOKEN}", "Content-Type": FORM, "Content-Length": str(len(body))}
    headers |= {"X-Forwarded-For": address} if address else {}
    with served.dial() as connection:
        connection.settimeout(60)
        connection.sendall(served.head("POST", "/accounts/login/", **headers) + body)
        return answer_of(connection)


def seconds(served: Served, path: str) -> float:
    began = time.monotonic()
    urllib.request.urlopen(urllib.request.Request(served.site.url + path, headers={"Cookie": served.cookie})).read()
    return time.monotonic() - began


def test_slow_bodies_hold_little_memory_and_others_are_served(served: Served) -> None:
    """First: the memory of a server that has done nothing yet is what it is measured against."""
    before = served.memory
    with ExitStack() as opened:
        refused = 0
        for _ in range(60):
            connection = opened.enter_context(served.dial())
            how = {"Content-Type": "application/json", "Content-Length": "20000000"}
            connection.sendall(served.head("POST", "/api/conversations/import", **how))
            connection.settimeout(0.05)
            with suppress(OSError):
                connection.sendall(b"x" * 4_000_000)
            with suppress(TimeoutError):
                refused += connection.recv(12) == b"HTTP/1.1 503"
        assert refused >= 50
        assert served.memory - before < 100_000_000
        assert served.ask("GET", "/api/conversations?limit=1")["items"]
        assert seconds(served, "/") < 3


@pytest.mark.long
def test_pages_and_probes_do_not_wait_for_a_flood_of_sign_ins(served: Served) -> None:
    seconds(served, "/")
    with ThreadPoolExecutor(24) as pool:
        flood = [pool.submit(sign_in, served, f"name-{n}", address=f"198.51.100.{n}") for n in range(24)]
        time.sleep(0.3)
        assert seconds(served, "/") < 3
        assert max(seconds(served, "/healthz") for _ in range(20)) < 1
        assert seconds(served, "/readyz") < 4
        assert not all(one.done() for one in flood), "the flood was over before anything was asked"
        for one in flood:
            assert one.result()[0] in (200, 503)


def all_in_one_minute() -> None:
    """Wait for the next minute where this one is nearly over."""
    if time.time() % 60 > 50:
        time.sleep(61 - time.time() % 60)


def test_an_address_is_wrong_so_often_and_then_told_to_wait(counting: Served) -> None:
    all_in_one_minute()
    found = [sign_in(counting, f"name-{number}", address="203.0.113.7") for number in range(WRONG_A_MINUTE + 1)]
    assert [status for status, _, _ in found] == [200] * WRONG_A_MINUTE + [429]
    _, headers, text = found[-1]
    assert 0 < int(headers["retry-after"]) <= 60 and "Too many attempts to sign in came from this address" in text
    # What a visitor writes before its proxy does is no other address; another visitor's is.
    assert sign_in(counting, "other", address="192.0.2.1, 203.0.113.7")[0] == 429
    assert sign_in(counting, "other", address="203.0.113.8")[0] == 200


def test_a_form_of_a_stranger_is_small(served: Served) -> None:
    status, _, text = sign_in(served, "alice", size=70_000)
    assert (status, "at most 65,536 bytes" in text.lower()) == (413, True)


@pytest.mark.parametrize("cookie", ["", "sessionid=nobodys"])
def test_a_stranger_sends_no_large_body(served: Served, cookie: str) -> None:
    given = {"Authorization": "", "Cookie": cookie, "Content-Type": "application/json"}
    with served.dial() as connection:
        connection.sendall(served.head("POST", "/api/conversations/import", Content_Length="1000000", **given))
        assert answer_of(connection)[0] == 401
    with served.dial() as connection:
        connection.sendall(served.head("POST", "/import", Transfer_Encoding="chunked", **given))
        with suppress(OSError):
            for _ in range(10):
                connection.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        assert answer_of(connection)[0] == 401


def test_a_header_of_a_proxy_that_is_not_named_is_not_believed(tmp_path: Path) -> None:
    with serving(tmp_path, **QUICK) as served:
        all_in_one_minute()
        found = [sign_in(served, f"name-{n}", address=f"192.0.2.{n}")[0] for n in range(WRONG_A_MINUTE + 1)]
        assert found[-1] == 429
        with pytest.raises(urllib.error.HTTPError, match="400"):
            request = urllib.request.Request(served.site.url + "/readyz", headers={"Host": "evil.example"})
            urllib.request.urlopen(request)
