from __future__ import annotations

import asyncio
import gc
import json
import signal
import ssl
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests import second_tries
from tests.llm_server import LlmServer
from tests.servers import LOGS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

TAIL = 1_500
"""Characters of each log that are shown of a test that fails."""


def pytest_configure() -> None:
    """Read the certificates once: each new HTTP client would take 25 ms for them, though tests call only http://.

    A shell has what it runs in the background ignore SIGINT, and so would the servers that tests stop by it.
    """
    ssl.create_default_context = cache(ssl.create_default_context)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for whole sites goes first, so that workers have something to compute beside it until the end."""
    waits = ("faults", "gateway", "tests", "test_many_processes.py", "test_accessibility.py")
    items.sort(key=lambda item: item.path.parent.name not in waits and item.path.name not in waits)
    for item in items:
        if item.get_closest_marker("browser") and item.path.parent.name != "journeys":
            raise pytest.UsageError(f"{item.nodeid}: `make test` looks for tests in a browser in tests/journeys alone")
        if second_tries.starts_processes(item):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Collect tests without the garbage collector: it would take a third longer to look through tests that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    second_tries.tell(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    report = yield
    if report.failed:
        tails = {name: path.read_text(errors="replace")[-TAIL:] for name, path in LOGS.items() if path.exists()}
        report.sections += [(f"log of {name}", tail) for name, tail in tails.items() if tail.strip()]
    return report


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    from tests import quick_tables

    quick_tables.keep()


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    """A model server over HTTP that says what it is scripted to say, and records what it was asked."""
    with LlmServer() as server:
        yield server


@pytest.fixture
def user(transactional_db: None) -> Any:
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_user("alice", password="correct horse battery")


@pytest.fixture
def profile(transactional_db: None, llm: LlmServer) -> Any:
    from conversations.models import ModelProfile

    return ModelProfile.objects.create(
        name="scripted", model_id="scripted", base_url=llm.url, api_key="sk-test", window=4_000, token_correction=1.0
    )


@pytest.fixture
def conversation(user: Any, profile: Any) -> Any:
    from conversations.models import Conversation

    return Conversation.objects.create(owner=user, model=profile)


@pytest.fixture
async def server_loop(transactional_db: None) -> AsyncIterator[None]:
    """Background work runs on the test's own loop, as it does in a server, and is stopped at the end."""
    from django.db import connections

    from conversations.runtime import queue
    from conversations.turns.running_replies import in_progress

    work = queue.attach(asyncio.get_running_loop())
    assert work is not None
    yield
    await work.stop()
    queue.attach(None)
    await sync_to_async(connections.close_all)()
    left = list(in_progress.values())
    in_progress.clear()  # one that is left would keep all later tests of this process waiting
    assert left == [], "every reply is forgotten once its task has ended"


def real_conversation(name: str) -> dict[str, Any]:
    """One of the public conversations beside the checkout; the test skips where they are not there."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: the real conversations are kept beside the checkout")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
