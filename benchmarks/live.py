"""What a served site costs: `python -m benchmarks.live`.

- from a POST to the first delta on the socket, with a model that answers at once (medians);
- importing a conversation of 20,000 messages: time, and the process's peak of memory;
- warm start to the first page, and resident memory when idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from websockets.asyncio.client import connect

from benchmarks.goals import sized
from benchmarks.site import site
from tests.journeys.site import Site
from tests.llm_server import closed_port

POSTS = sized(60, small=10)
MESSAGES = sized(20_000, small=500)


def main() -> None:
    with site() as folder, model() as url:
        cookie, conversations = prepared(1)
        place = Site(folder, llm_url=url, window=128_000)
        for _ in range(2):  # the second start is a warm one
            began = time.perf_counter()
            with place:
                fetch(place, "/accounts/login/")
                started = time.perf_counter() - began
                time.sleep(1)
                print(f"first page {started:.2f} s after the start, idle {memory(place, 'VmRSS'):.0f} MB")
        with place:
            first_delta(place, cookie, conversations[0])
            importing(place, cookie)


@contextlib.contextmanager
def model() -> Iterator[str]:
    """A scripted model in a process of its own; gives its base URL."""
    with closed_port() as url:
        port = urlsplit(url).port
    process = subprocess.Popen([sys.executable, "-m", "tests.llm_server", "--port", str(port), "--tokens", "20"])
    time.sleep(2)
    try:
        yield url
    finally:
        process.kill()


def prepared(count: int) -> tuple[str, list[str]]:
    """A signed-in person's session cookie, and ids of new conversations."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from conversations.models import Conversation, ModelProfile

    user = get_user_model().objects.get()
    ModelProfile.objects.all().delete()
    rows = Conversation.objects.bulk_create(Conversation(owner=user) for _ in range(count))
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value, [str(row.pk) for row in rows]


def fetch(place: Site, path: str, **how: Any) -> Any:
    return urlopen(Request(place.url + path, **how), timeout=120).read()


def memory(place: Site, line: str) -> float:
    status = Path(f"/proc/{place.process.pid}/status").read_text()
    return next(int(row.split()[1]) / 1000 for row in status.splitlines() if row.startswith(line))


def headers(place: Site, cookie: str) -> dict[str, str]:
    token = "a" * 32
    return {"Cookie": f"sessionid={cookie}; csrftoken={token}", "X-CSRFToken": token, "Origin": place.url}


def first_delta(place: Site, cookie: str, conversation: str) -> None:
    times = asyncio.run(deltas(place, cookie, conversation))[5:]
    middle, slow = statistics.median(times), sorted(times)[int(len(times) * 0.9)]
    print(f"POST to first delta: {middle:.1f} ms, 90 % under {slow:.1f} ms")


async def deltas(place: Site, cookie: str, conversation: str) -> list[float]:
    url = place.url.replace("http", "ws") + f"/ws/conversations/{conversation}/"
    times = []
    line = HTTPConnection("127.0.0.1", place.port)
    async with connect(url, additional_headers={"Cookie": f"sessionid={cookie}"}, origin=place.url) as socket:  # type: ignore[arg-type]
        for number in range(POSTS):
            body = f"content=question+{number}".encode()
            began = time.perf_counter()
            posting = asyncio.create_task(
                asyncio.to_thread(post, line, f"/c/{conversation}/send", body, headers(place, cookie))
            )
            while "beforeend:#text-" not in (await socket.recv()):
                pass
            times.append(1000 * (time.perf_counter() - began))
            await posting
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.15):
                    while True:
                        await socket.recv()
    return times


def post(line: HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> None:
    """Over a connection that stays open, as a browser's does."""
    line.request("POST", path, body, headers | {"Content-Type": "application/x-www-form-urlencoded"})
    assert line.getresponse().read()


def importing(place: Site, cookie: str) -> None:
    messages = [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"message {n} with some forty words of talk " + "and more " * 30,
        }
        for n in range(MESSAGES)
    ]
    body = json.dumps({"source": "bench", "title": "long", "messages": messages}).encode()
    began = time.perf_counter()
    kind = {"Content-Type": "application/json"}
    fetch(place, "/api/conversations/import", data=body, headers=headers(place, cookie) | kind)
    print(f"import of {MESSAGES:,} messages: {time.perf_counter() - began:.1f} s, peak {memory(place, 'VmHWM'):.0f} MB")


if __name__ == "__main__":
    main()
