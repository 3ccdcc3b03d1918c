"""The time that a provider asks to wait, wherever it names it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conversations.llm.providers.fault_mapping import Endpoint, error_of_status
from conversations.llm.providers.stated_waits import wait_in_headers
from conversations.llm.retries import pause_before_next
from tests.growth import growth, repeated

pytestmark = pytest.mark.once

ASKED = Endpoint("Writer", "writer-1", "https://host/v1", 60.0, "openai")
GEMINI = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.074824224s."


def limited(message: str = "Slow down.", **fields: Any) -> Any:
    return error_of_status(429, {"error": {"message": message} | fields}, ASKED)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        (GEMINI, 34.074824224),
        ("Rate limit reached for model `llama`: Limit 6000, Used 5900. Please try again in 7.66s. Need more?", 7.66),
        ("Rate limit reached for gpt-4o on requests per min. Please try again in 120ms.", 0.12),
        ("Rate limit reached. Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3.5s.", 3_723.5),
        ("Requests have exceeded the call rate limit. Please retry after 26 seconds.", 26),
        ("Your account request reached max concurrency: 1, please try again after 1 seconds", 1),
        ("Rate limit of 15 per 60s exceeded. Please wait 35 seconds before retrying.", 35),
        ("No deployments available. Try again in 60 seconds.", 60),
        ("Try again in 2 minutes", 120),
        ("try again in 1 day", 86_400),
        ("Limit 20 per 60s.", None),
        ("Please try again in 5 messages.", None),
        ("Please try again later.", None),
        ("Please try again in 99999999 days.", None),
        ("x" * 600 + " try again in 5s", None),
    ],
)
def test_a_wait_is_read_in_the_words_of_a_refusal(message: str, seconds: float | None) -> None:
    assert limited(message).retry_after == (pytest.approx(seconds) if seconds else None)


def test_a_wait_is_read_in_the_details_of_an_error() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
    body = [{"error": {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": [{}, info]}}]
    assert error_of_status(429, body, ASKED).retry_after == 34
    reset = str(round((time.time() + 90) * 1_000))
    assert limited(metadata={"headers": {"X-RateLimit-Reset": reset}}).retry_after == pytest.approx(90, abs=5)
    assert limited(metadata={"headers": {"X-RateLimit-Reset": "1"}}, details=[{"retryDelay": 3}]).retry_after is None
    assert limited(metadata=[], details={"retryDelay": "3s"}).retry_after is None


def test_headers_go_first() -> None:
    body = {"error": {"message": "Please try again in 20s."}}
    assert error_of_status(429, body, ASKED, wait=wait_in_headers({"retry-after": "7"})).retry_after == 7
    assert wait_in_headers({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5
    assert wait_in_headers({"retry-after-ms": "soon", "retry-after": "2"}) == 2
    assert wait_in_headers({}) is None


def test_a_quota_of_the_minute_is_not_asked_again_in_vain() -> None:
    """Gemini's free tier: three requests within two seconds, and the words "Try again later"."""
    error = limited(GEMINI)
    assert pause_before_next(error, failed=1) is None
    assert "it asks to wait 35 seconds. Try again." in error.reason
    assert pause_before_next(limited("Please try again in 7.66s."), failed=1) == 7.66


@pytest.mark.parametrize("piece", ["try again in 1s ", "1ms", "1 ", "try again in 1s1s1s1s1s"])
def test_time_grows_with_the_words(piece: str) -> None:
    assert growth(limited, repeated(piece), start=100_000, largest=800_000).is_linear
