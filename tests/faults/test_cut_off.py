"""A request whose connection is cut off while its view is at work: the view ends, whole, and no fault is logged."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import clear_url_caches, path, set_urlconf
from django.views.decorators.csrf import csrf_exempt

from tests.servers import wait_until

BODY = b"x" * 5_000
arrived, left, done = threading.Event(), threading.Event(), threading.Event()
read: list[bytes] = []


@csrf_exempt
def slow(request: HttpRequest) -> HttpResponse:
    """Read the body only after its sender has left."""
    arrived.set()
    try:
        assert left.wait(20)
        read.append(request.body)
    finally:
        done.set()
    return HttpResponse()


urlpatterns = [path("slow/", slow)]
SCOPE: dict[str, Any] = {
    "type": "http", "method": "POST", "path": "/slow/", "query_string": b"", "http_version": "1.1", "scheme": "http",
    "headers": [(b"host", b"testserver"), (b"content-length", str(len(BODY)).encode())],
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_urls(settings: Any) -> Iterator[None]:
    """Addresses of this module's own, forgotten afterwards: the handler notes them for whatever runs after it."""
    settings.ROOT_URLCONF = __name__
    clear_url_caches()
    yield
    set_urlconf(None)
    clear_url_caches()


@pytest.mark.parametrize("how", ["left", "cancelled"])
@pytest.mark.parametrize("spooled", [1_000, 10_000])
def test_who_is_cut_off_leaves_a_view_that_ends_quietly(
    how: str, spooled: int, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    """In memory, and on disk."""
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = spooled
    for event in (arrived, left, done):
        event.clear()
    read.clear()
    with caplog.at_level(logging.WARNING):
        asyncio.run(cut_off(how))
        left.set()
        wait_until(done.is_set, what="the end of the view")
        assert read == [BODY]
    assert [record for record in caplog.records if record.exc_info] == []


async def cut_off(how: str) -> None:
    from chatsite.asgi import _answer

    messages = asyncio.Queue[dict[str, Any]]()
    messages.put_nowait({"type": "http.request", "body": BODY, "more_body": False})
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    request = asyncio.create_task(_answer(dict(SCOPE), messages.get, send))
    while not arrived.is_set():
        await asyncio.sleep(0.01)
    if how == "cancelled":
        request.cancel()
        await asyncio.sleep(0.05)
        request.cancel()  # as a server that has waited long enough does
    else:
        messages.put_nowait({"type": "http.disconnect"})
    # A view that is at work is waited for, by some versions of asgiref: it has to be let on meanwhile.
    asyncio.get_running_loop().call_later(0.3, left.set)
    await asyncio.wait([request], timeout=20)
    assert request.done()
    assert sent == []
