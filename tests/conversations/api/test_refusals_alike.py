"""A refusal has one shape for programs, whatever part of the site refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import RequestFactory

from chatsite.refusal_responses import answer
from conversations.api.errors import on_refused
from conversations.errors import Conflict, Invalid, Refused, TooMany
from conversations.gateway.call_log import Call
from conversations.gateway.responses import refused

pytestmark = pytest.mark.once

REFUSALS = [
    Invalid("limit: must be at most 200.", field="limit", limit=200),
    TooMany("Try again soon.", retry_after=7),
    Conflict("A reply is still being written.", code="reply_running"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.code)
def test_api_gateway_and_server_refuse_alike(refusal: Refused) -> None:
    from_api = on_refused(RequestFactory().get("/api/search"), refusal)
    from_gateway = refused(refusal, Call())
    headers, body = answer(refusal, path="/api/search", method="GET", is_htmx=False)
    told: list[dict[str, Any]] = [json.loads(text)["error"] for text in (from_api.content, from_gateway.content, body)]
    assert told[0] == told[2] == {key: told[1][key] for key in ("code", "message", "detail")}
    assert set(told[1]) - set(told[0]) == {"type", "param"}, "what OpenAI's clients look for"
    after = dict(headers).get(b"retry-after", b"").decode()
    assert from_api.get("Retry-After", "") == from_gateway.get("Retry-After", "") == after
    assert (after == "7") == isinstance(refusal, TooMany)
