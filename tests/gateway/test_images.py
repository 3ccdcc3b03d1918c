"""Old images give way where a provider refuses a request for its size, or for the number of its images."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from conversations.llm.providers.refused_images import some_are_refused, without_oldest
from tests.gateway.caller import Caller

LEFT_OUT = "left out, as the provider takes no request with all images]"
REFUSALS = [
    (413, ""),
    (413, "Request Entity Too Large"),
    (400, "request_too_large: Request exceeds the maximum size"),
    (400, "At most 2 image(s) may be provided in one prompt."),
    (400, "Too many images in request: 21 > 20"),
    (422, "images: the maximum is 10"),
    (400, "Could not process image"),  # Anthropic
    (400, "Unable to process input image. Please retry or report in"),  # Gemini
    (400, "You uploaded an unsupported image. Please make sure your image has one of the following formats: ['png']."),
    (400, "Invalid image data."),
]
OTHERS = [
    (400, "This model cannot process images."),
    (400, "This model does not support image input."),
    (400, "context_length_exceeded"),
    (500, "Too many images"),
    (429, "Request too large for gpt-4o: limit 30000 tokens per minute"),
]


def image(number: int) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 400}{number:04}"}}


def history(images: int) -> list[Any]:
    shown = [
        {"role": "user", "content": [{"type": "text", "text": f"Screen {number}."}, image(number)]}
        for number in range(images)
    ]
    return [one for message in shown for one in (message, {"role": "assistant", "content": "Seen."})][:-1]


@pytest.mark.parametrize(("status", "complaint"), REFUSALS)
def test_refusals_of_size_and_of_images_are_known(status: int, complaint: str) -> None:
    assert some_are_refused(status, complaint)


@pytest.mark.parametrize(("status", "complaint"), OTHERS)
def test_other_refusals_are_none_of_them(status: int, complaint: str) -> None:
    assert not some_are_refused(status, complaint)


def test_the_older_half_gives_way_each_time_and_the_caller_s_messages_stay() -> None:
    messages = history(5)
    before, counts = json.dumps(messages), []
    fewer = messages
    while (next_ones := without_oldest(fewer)) is not fewer:
        fewer = next_ones
        counts.append(json.dumps(fewer).count("data:image/png"))
    assert counts == [2, 1, 0]
    assert json.dumps(messages) == before
    first = without_oldest(messages)
    assert first[0]["content"][1] == {"type": "text", "text": f"[image/png, 303 bytes: {LEFT_OUT}"}
    assert first[-1] == messages[-1], "the newest stays"


def test_images_within_results_give_way_too() -> None:
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "A" * 40}}
    messages = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [block]}]}]
    (left,) = without_oldest(messages)[0]["content"][0]["content"]
    assert left == {"type": "text", "text": f"[image/webp, 30 bytes: {LEFT_OUT}"}


@pytest.fixture
def roomy(caller: Caller) -> Iterator[Caller]:
    """A caller of models whose windows have room for images, by both kinds of providers."""
    for name, provider in (("roomy", "openai"), ("claude", "anthropic")):
        caller.run(
            "from conversations.models import ModelProfile\n"
            f"ModelProfile.objects.get_or_create(name='{name}', defaults={{'model_id': '{name}', 'window': 30_000, "
            f"'provider': '{provider}', 'api_key': 'sk-x', 'base_url': '{caller.served.llm.url}'}})"
        )
    yield caller
    caller.rows("DELETE FROM conversations_modelprofile WHERE name IN ('roomy', 'claude')")


def test_a_program_goes_on_before_a_server_that_takes_few_images(roomy: Caller) -> None:
    llm = roomy.served.llm
    llm.enqueue(status=413, message="Request Entity Too Large")
    llm.enqueue(status=400, message="At most 1 image(s) may be provided in one prompt.")
    llm.enqueue("I see it.")
    answer = roomy.ask(history(3), model="roomy").parse()
    assert answer.choices[0].message.content == "I see it."
    asked = [json.dumps(request.body) for request in llm.chats]
    assert [one.count("data:image/png") for one in asked] == [3, 1, 0]
    assert asked[-1].count(LEFT_OUT) == 3


def test_a_server_that_refuses_without_images_is_told_as_it_is(caller: Caller) -> None:
    caller.served.llm.enqueue(status=413, message="Request Entity Too Large")
    with pytest.raises(openai.APIStatusError):
        caller.ask([{"role": "user", "content": "hi"}])
    assert len(caller.served.llm.chats) == 1


def test_claude_code_s_screenshots_too(roomy: Caller) -> None:
    caller, claude = roomy, anthropic.Anthropic(base_url=roomy.served.site.url, api_key=roomy.served.key, max_retries=0)
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 400}
    shown = [{"type": "image", "source": source}, {"type": "image", "source": source}]
    caller.served.llm.enqueue(status=413, code="request_too_large", message="Request exceeds the maximum size")
    caller.served.llm.enqueue("I see it.", thoughts="A window.")
    said: Any = [{"role": "user", "content": [*shown, {"type": "text", "text": "Look."}]}]
    with claude.messages.stream(model="claude", max_tokens=100, messages=said) as answer:
        assert answer.get_final_text() == "I see it."
    kept, *_ = caller.served.llm.chats[-1].body["messages"]
    assert [part["type"] for part in kept["content"]] == ["text", "image", "text"]
