from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from django.utils import translation

from conversations import limits
from conversations.ops import first_account
from tests.conversations.chat import Chat
from tests.llm_server import LlmServer


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """What one test has asked counts for no other: their people have the same numbers."""
    yield
    for name in settings.CACHES:
        caches[name].clear()


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Begins each test in English: Django's test client leaves the language of its last request."""
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True)
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops the clock of the limits, as they count by minutes and hours of the clock that may end during a test."""
    now = time()
    monkeypatch.setattr(limits, "time", lambda: now)


@pytest.fixture
async def chat(conversation: Any, llm: LlmServer, server_loop: None) -> Chat:
    return Chat(conversation, llm)


@pytest.fixture
def setup_token(settings: Any, tmp_path: Path) -> str:
    """The token of the first account, in a folder of the test's own: others would delete it."""
    settings.DATA_DIR = tmp_path
    return first_account.token()
