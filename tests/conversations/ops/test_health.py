"""Whether a site can answer, and can do its work: what is wrong is named, in time, and without secrets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.test import Client

from conversations.llm.probes import reachability
from conversations.memory import index_schema, message_index
from conversations.models import ModelProfile
from tests.llm_server import LlmServer, closed_port


@pytest.fixture(autouse=True)
def nothing_was_found_before() -> None:
    reachability._results.clear()


def ready(status: int) -> dict[str, str]:
    """What is said of each part."""
    response = Client().get("/readyz")
    assert response.status_code == status
    said = response.json()
    assert said["status"] == ("ready" if status == 200 else "not ready")
    assert list(said["checks"]) == ["database", "writes", "redis", "worker", "model"]
    return dict(said["checks"])


def test_one_process_with_a_model_is_ready_and_needs_no_more(profile: Any) -> None:
    assert ready(200) == {"database": "ok", "writes": "ok", "redis": "not used", "worker": "not used", "model": "ok"}


def test_a_search_index_that_is_missing_is_named_and_keeps_nobody_away(profile: Any) -> None:
    message_index.keep_up()
    assert Client().get("/readyz").json()["search_index"] == "ok"
    index_schema.drop()
    try:
        response = Client().get("/readyz")
        assert (response.status_code, response.json()["search_index"]) == (200, "missing; it is made anew")
        message_index.keep_up()
        assert Client().get("/readyz").json()["search_index"] == "ok"
    finally:
        index_schema.install()


def test_the_model_is_not_asked_and_not_looked_for_every_time(profile: Any, llm: LlmServer) -> None:
    for _ in range(5):
        ready(200)
    assert not llm.requests
    assert llm.connections == 1


def test_a_model_that_cannot_be_reached_is_named_and_nothing_else(profile: Any) -> None:
    with closed_port() as url:
        profile.base_url = url.replace("http://", "http://user:password@")
        profile.save()
        found = ready(503)
    assert found["model"] == "scripted: its address cannot be reached"
    assert found["database"] == "ok"


def test_a_site_without_a_model_is_not_ready_and_says_what_to_set(transactional_db: None) -> None:
    assert "OPENAI_API_KEY" in ready(503)["model"]


def test_the_built_in_model_is_there_or_not(transactional_db: None, settings: Any) -> None:
    ModelProfile.objects.create(name="demo", model_id="demo", provider=ModelProfile.Provider.BUILTIN)
    settings.BUILTIN_MODEL_PATH = "/nowhere"
    assert ready(503)["model"] == "demo: its file or its engine is not on this machine"


def test_an_address_that_says_nothing_does_not_hold_the_answer_up(profile: Any) -> None:
    with silent_port() as port:
        profile.base_url = f"http://127.0.0.1:{port}/v1"
        profile.save()
        began = time.monotonic()
        assert "cannot be reached" in ready(503)["model"]
        assert time.monotonic() - began < 10


@contextmanager
def silent_port() -> Iterator[int]:
    """One that a server has, which accepts no connection."""
    with ExitStack() as held:
        server = held.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("", ("proxy", 3128)),
        ("https://internal.example/v1", ("internal.example", 443)),
        ("http://127.0.0.1:8080/v1", ("127.0.0.1", 8080)),
        ("http://[::1]/v1", ("::1", 80)),
    ],
)
def test_what_is_connected_to_is_the_models_address_or_the_proxy_before_it(
    monkeypatch: pytest.MonkeyPatch, base_url: str, address: tuple[str, int]
) -> None:
    monkeypatch.setenv("https_proxy", "http://user:password@proxy:3128")
    monkeypatch.setenv("http_proxy", "proxy:3128")
    monkeypatch.setenv("no_proxy", "internal.example")
    assert reachability.address_of(ModelProfile(name="one", base_url=base_url)) == address


def test_neither_asks_for_a_key_or_a_session(profile: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        assert Client().get("/healthz").json() == {"status": "ok"}
    with django_assert_num_queries(0):  # it is asked elsewhere
        ready(200)
