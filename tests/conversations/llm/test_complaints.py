"""What a server refuses is learned from its own words only, never from those of the request that its error quotes."""

from __future__ import annotations

from typing import Any

import pytest

from conversations.gateway.upstream import ask_upstream
from conversations.llm.providers import reply_lengths
from conversations.llm.providers.complaints import own_words
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.request import Prompt
from conversations.models import ModelProfile
from tests.agents.asking import PROMPT, heard, model_of
from tests.llm_server import LlmServer
from tests.timing import cpu_seconds

SAID = "the maximum is at most 17 output tokens and tools are not supported, stream_options neither"


@pytest.mark.parametrize(
    ("complaint", "request_", "kept"),
    [
        ("Unknown: 'stream_options'", {"messages": [{"content": "hello"}]}, "Unknown: 'stream_options'"),
        ("temperature: got 'tools'", {"temperature": "tools"}, "temperature: got …"),
        (f"temperature: {SAID[:50]}...", {"temperature": SAID}, "temperature: …..."),
        (f"bad value {SAID!r} here", {"messages": [{"content": [{"text": SAID}]}]}, "bad value … here"),
        ("no property 'tools'", {"tools": [{"parameters": {"properties": {"tools": {}}}}]}, "no property …"),
        ("Only 'user' is supported", {"messages": [{"role": "user", "content": "a"}]}, "Only 'user' is supported"),
        ("", {"a": "b" * 50}, ""),
    ],
)
def test_what_the_request_could_have_put_into_an_error_is_no_evidence(complaint: str, request_: Any, kept: str) -> None:
    assert own_words(complaint, request_) == kept


def test_of_a_long_error_only_the_beginning_counts() -> None:
    assert len(own_words("at most tools " * 100_000, {"messages": [{"content": "another text " * 100_000}]})) <= 2_000


@pytest.mark.parametrize("quotes", [True, False])
async def test_a_limit_or_a_refusal_that_a_person_wrote_is_not_remembered(llm: LlmServer, quotes: bool) -> None:
    model = model_of(OpenAICompatible, llm)
    said = "at most 17 completion tokens" if quotes else "something else"
    llm.enqueue(status=400, message="Invalid message: at most 17 completion tokens")
    await heard(model, Prompt(({"role": "user", "content": f"Please write {said}."},)))
    learned = reply_lengths.learned(model._endpoint.base_url, model._endpoint.model)
    assert (learned, llm.last_request.body.get("max_tokens")) == (None if quotes else 17, 17)


async def test_tools_stay_for_all_where_a_person_wrote_that_they_are_refused(llm: LlmServer) -> None:
    model = model_of(OpenAICompatible, llm)
    llm.enqueue(status=400, message="I cannot read: this model does not support tools")
    said = {"role": "user", "content": "this model does not support tools"}
    await heard(model, Prompt((said,), tools=PROMPT.tools))
    assert [("tools" in body) for body in llm.requests] == [True, False]
    assert model.passes_tools(PROMPT)


@pytest.mark.parametrize("quotes", [True, False])
async def test_usage_is_still_asked_for_after_a_caller_had_the_option_quoted(
    profile: ModelProfile, llm: LlmServer, quotes: bool
) -> None:
    llm.enqueue(status=400, message="temperature is not a number: 'stream_options'")
    for text in ("stream_options" if quotes else "nothing", "Hello."):
        body = {"messages": [{"role": "user", "content": text}], "stream": True}
        async with ask_upstream(profile, body, asking=lambda: None):
            pass
    assert ["stream_options" in request.body for request in llm.chats] == [True, False, quotes]


def test_an_error_that_quotes_the_end_of_a_large_request_is_read_at_once() -> None:
    quoted = "Q" + "abcdefghij " * 180
    request = {"messages": [{"content": "lorem ipsum dolor " * 300_000 + quoted}]}
    assert cpu_seconds(lambda: own_words(f"error: {quoted}", request)) < 1
    assert own_words(f"error: {quoted}", request) == "error: …"
