"""What a server has loaded once it has served its first page: nothing that only later acts need."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from typing import Self

import pytest

from tests.faults.serving import LoudSite
from tests.furnishing import furnish
from tests.servers import wait_until

MOST_MB = 105
"""Resident, for what is loaded; the figure of docs/measured.md is of a site that has been there for a second."""
UNUSED = {
    *(
        "openai",
        "tiktoken",
        "pydantic",
        "httpx",
        "anthropic",
        "numpy",
        "onnxruntime",
        "llama_cpp",
        "mcp",
        "PIL",
        "pygments",
    ),
    *("celery", "kombu", "redis", "psycopg", "opentelemetry.sdk", "structlog", "rest_framework", "drf_spectacular"),
    *("daphne.server", "twisted", "autobahn", "OpenSSL", "cffi", "pycparser"),
}


class Loaded(LoudSite):
    def start(self, *, wait: bool = True) -> Self:
        return self.run("tests.faults.loaded", "serve", "--port", str(self.port))

    def modules(self) -> set[str]:
        place = self.data / "modules.json"
        self.process.send_signal(signal.SIGUSR2)
        wait_until(place.exists, what="the names of the modules")
        return set(json.loads(place.read_text()))

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000


@pytest.mark.once
def test_a_server_that_served_its_first_page_has_loaded_nothing_that_is_for_later(tmp_path: Path) -> None:
    furnish(tmp_path)
    with Loaded(tmp_path, llm_url="http://127.0.0.1:9/v1") as site:
        urllib.request.urlopen(site.url + "/accounts/login/").read()
        loaded = site.modules()
        assert {"conversations.page.views.home", "chatsite.asgi"} <= loaded
        assert not loaded & UNUSED
        assert site.megabytes < MOST_MB
