"""The token figures of a reply, in the forms that providers give them."""

from __future__ import annotations

from typing import Any

import pytest

from conversations.llm.port import ReportedTokens
from conversations.llm.providers.message_events import message_of
from conversations.llm.providers.reported_usage import later_usage, spent_on, spent_on_message, tokens_of, usage_in

pytestmark = pytest.mark.once

HALF = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}


def details(cached: int = 0, thought: int = 0, **figures: Any) -> dict[str, Any]:
    return figures | {
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


@pytest.mark.parametrize(
    ("usage", "prompt", "completion", "cached", "thought"),
    [
        (details(6, 3, **HALF), 10, 4, 6, 3),  # OpenAI
        (details(6, 94, prompt_tokens=32, completion_tokens=9, total_tokens=135), 32, 103, 6, 94),  # xAI
        (details(0, 386, prompt_tokens=12, completion_tokens=1, total_tokens=399), 12, 387, 0, 386),
        ({"prompt_tokens": 20, "completion_tokens": 424, "total_tokens": 1_016}, 20, 996, 0, 572),  # Gemini
        (details(0, 60, prompt_tokens=21, completion_tokens=0, total_tokens=81), 21, 60, 0, 60),
        (details(0, 60, prompt_tokens=21, completion_tokens=2), 21, 62, 0, 60),  # no total
        (HALF | {"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}, 10, 4, 8, 0),  # DeepSeek
        (HALF | {"cached_tokens": 8}, 10, 4, 8, 0),  # Moonshot
        (HALF | {"cache_read_input_tokens": 8, "cache_creation_input_tokens": 0}, 10, 4, 8, 0),  # LiteLLM
        (HALF | {"reasoning_tokens": 3}, 10, 4, 0, 3),  # Perplexity
        (HALF | {"prompt_tokens_details": None, "completion_tokens_details": []}, 10, 4, 0, 0),  # vLLM
        ({"input_tokens": 10, "output_tokens": 4}, 10, 4, 0, 0),
        (HALF | {"input_tokens": 0, "output_tokens": 0}, 10, 4, 0, 0),
        (details(90, 0, prompt_tokens=10, completion_tokens=4, total_tokens=104), 100, 4, 90, 0),  # cached apart
        (details(90, 0, **HALF), 10, 4, 0, 0),  # more cached than read
        ({"prompt_tokens": 10.0, "completion_tokens": 4.0, "total_tokens": 14.0}, 10, 4, 0, 0),
        (HALF | {"total_tokens": 9}, 10, 4, 0, 0),
        ({"prompt_tokens": 5, "total_tokens": 5, "completion_tokens": 0}, 5, 0, 0, 0),
    ],
)
def test_figures_of_a_completion_are_read_in_each_form(
    usage: Any, prompt: int, completion: int, cached: int, thought: int
) -> None:
    assert spent_on({"usage": usage}) == ReportedTokens(prompt, completion, cached, thought)


@pytest.mark.parametrize(
    "usage",
    [
        *(
            None,
            [],
            "10",
            {},
            {"prompt_tokens": "10", "completion_tokens": 4},
            {"prompt_tokens": 0},
            {"total_tokens": 9},
        ),
        *({"prompt_tokens": 10}, {"prompt_tokens": 10, "completion_tokens": None}, {"prompt_tokens": True}),
        *({"prompt_tokens": -1, "completion_tokens": 4}, {"prompt_tokens": 2**40, "completion_tokens": 4}),
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
    ],
)
def test_figures_that_are_missing_or_odd_are_no_report(usage: Any) -> None:
    assert spent_on({"usage": usage}) is None
    assert tokens_of(usage).cached == 0


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [], "usage": HALF},
        {"choices": [{"delta": {}}], "x_groq": {"id": "req_1", "usage": HALF}},
        {"choices": [{"delta": {}, "finish_reason": "stop", "usage": HALF}], "usage": None},
    ],
)
def test_usage_is_found_in_each_place_of_a_chunk(chunk: Any) -> None:
    assert usage_in(chunk) == HALF


BEGUN = {"input_tokens": 1_000, "output_tokens": 1}


@pytest.mark.parametrize(
    ("begun", "ended", "prompt", "cached"),
    [
        (BEGUN, {"output_tokens": 7}, 1_000, 0),
        (BEGUN | {"cache_read_input_tokens": 50}, {"input_tokens": None, "output_tokens": 7}, 1_050, 50),
        (BEGUN, {"input_tokens": 0, "output_tokens": 7}, 1_000, 0),
        ({"input_tokens": 0, "output_tokens": 0}, BEGUN | {"output_tokens": 7}, 1_000, 0),
        (BEGUN, {"input_tokens": 200, "cache_read_input_tokens": 800, "output_tokens": 7}, 1_000, 800),
        (BEGUN, {"input_tokens": 0, "cache_read_input_tokens": 1_000, "output_tokens": 7}, 1_000, 1_000),
        (None, BEGUN | {"output_tokens": 7}, 1_000, 0),
        ("odd", BEGUN | {"output_tokens": 7}, 1_000, 0),
    ],
)
def test_figures_of_a_message_come_at_its_beginning_or_its_end(
    begun: Any, ended: Any, prompt: int, cached: int
) -> None:
    usage = later_usage(later_usage({}, begun), ended)
    assert spent_on_message({"usage": usage}) == ReportedTokens(prompt, 7, cached)
    events = [{"type": "message_start", "message": {"usage": begun}}, {"type": "message_delta", "usage": ended}]
    message = message_of([*events, {"type": "message_stop"}])
    assert message and spent_on_message(message) == ReportedTokens(prompt, 7, cached)
