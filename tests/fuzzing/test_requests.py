"""Spoilt requests of programs and browsers: each is refused in words or served, and none is a fault of the site."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.serving import Served, serving
from tests.fuzzing.mutations import TEXTS, VALUES, fuzzed, spoilt
from tests.journeys.site import long_conversation

FUNCTION = {"name": "ls", "description": "Lists files.", "parameters": {"type": "object", "properties": {"path": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
COMPLETIONS = {
    "model": "scripted",
    "stream": False,
    "max_tokens": 50,
    "temperature": 0.5,
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "auto",
    "messages": [
        {"role": "system", "content": "Answer shortly."},
        {"role": "user", "content": [{"type": "text", "text": "Which files are there?"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "user", "content": "Go on.", "name": "alice"},
    ],
}
RESPONSES = {
    "model": "scripted",
    "instructions": "Answer shortly.",
    "max_output_tokens": 50,
    "store": True,
    "tools": [{"type": "function"} | FUNCTION],
    "reasoning": {"effort": "low"},
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Which files are there?"}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {"role": "user", "content": "Go on."},
    ],
}
MESSAGES = {
    "model": "scripted",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "Answer shortly.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "ls", "description": "Lists files.", "input_schema": {"type": "object"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "messages": [
        {"role": "user", "content": "Which files are there?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ],
}
POLICY = {"policy": {"threshold": 0.8, "strategy": "rolling", "keep_recent": 4, "recall_max_tokens": 500}, "title": "t"}
PROTOCOLS = {"chat/completions": COMPLETIONS, "responses": RESPONSES, "messages": MESSAGES}
HEADERS = (
    "Accept", "Accept-Language", "Cookie", "Range", "If-None-Match", "If-Modified-Since", "X-Forwarded-For", "Origin",
    "X-Forwarded-Proto", "Content-Type", "HX-Request", "HX-Current-URL", "HX-Target", "Referer", "X-Request-ID",
    "traceparent", "X-CSRFToken", "Authorization", "X-Chatsite-Project", "X-Chatsite-Policy", "Idempotency-Key",
)  # fmt: skip
ADDRESSES = ("/", "/accounts/login/", "/settings/", "/usage/", "/api/conversations", "/healthz", "/metrics", "/admin/")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"API_REQUESTS_PER_MINUTE": "1000000", "MODEL_TIMEOUT_SECONDS": "2", "GATEWAY_RETRIES": "0"}
    with serving(tmp_path_factory.mktemp("site"), **limits) as site:
        yield site


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {served.key}"}
    with httpx2.Client(base_url=served.site.url, headers=headers, timeout=30) as client:
        yield client


def send(client: httpx2.Client, method: str, path: str, value: Any) -> httpx2.Response:
    body = json.dumps(value)  # as ASCII: half of a surrogate pair is valid JSON
    return client.request(method, path, content=body, headers={"Content-Type": "application/json"})


def assert_answered(answer: httpx2.Response, *more: int) -> None:
    """A success, or a refusal with a code and a message. A provider that refuses a spoilt request is a 502."""
    assert answer.status_code < 500 or answer.status_code in more, answer.text
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert error["message"] and (error.get("code") or error.get("type")), answer.text


@pytest.mark.parametrize("path", PROTOCOLS)
@fuzzed
@given(data=st.data())
def test_any_body_at_the_gateway(client: httpx2.Client, path: str, data: st.DataObject) -> None:
    assert_answered(send(client, "POST", f"/v1/{path}", data.draw(spoilt(PROTOCOLS[path]) | VALUES)), 502)


@fuzzed
@given(body=spoilt(long_conversation(3), {"conversations": [long_conversation(2)]}) | VALUES)
def test_any_import(client: httpx2.Client, body: Any) -> None:
    assert_answered(send(client, "POST", "/api/conversations/import", body))


@fuzzed
@given(body=spoilt(POLICY) | VALUES)
def test_any_policy(client: httpx2.Client, served: Served, body: Any) -> None:
    assert_answered(send(client, "PATCH", f"/api/conversations/{served.id}", body))
    assert served.ask("GET", f"/api/conversations/{served.id}/context")


@fuzzed
@given(words=TEXTS)
def test_any_search(client: httpx2.Client, served: Served, words: str) -> None:
    words = words.encode("utf-8", "surrogatepass").decode("utf-8", "replace")[:2_000]
    assert client.get("/api/search", params={"q": words}).status_code in (200, 400)
    page = {"Cookie": served.cookie, "Authorization": ""}
    for path in ("/search", f"/c/{served.id}/find"):
        assert client.get(path, params={"q": words}, headers=page).status_code in (200, 400)


@fuzzed
@given(
    path=st.sampled_from(ADDRESSES),
    headers=st.dictionaries(
        st.sampled_from(HEADERS),
        st.binary(max_size=200).map(lambda value: re.sub(rb"[\x00-\x08\x0a-\x1f\x7f]", b"", value).strip()),
        max_size=5,
    ),
)
def test_any_headers(served: Served, path: str, headers: dict[str, bytes]) -> None:
    with httpx2.Client(base_url=served.site.url, timeout=30) as client:
        answer = client.get(path, headers={name.encode(): value for name, value in headers.items()})
    assert answer.status_code < 500, answer.text[:2_000]


@fuzzed
@given(path=st.text(st.characters(codec="utf-8"), max_size=80), query=st.text(max_size=80))
def test_any_address(client: httpx2.Client, served: Served, path: str, query: str) -> None:
    url = httpx2.URL(served.site.url).copy_with(raw_path=b"/" + _quoted(path) + b"?" + _quoted(query))
    answer = client.get(url)
    assert answer.status_code < 500, answer.text[:2_000]


def _quoted(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"".join(bytes([byte]) if 0x20 < byte < 0x7F and byte not in b"#?" else b"%%%02X" % byte for byte in data)
