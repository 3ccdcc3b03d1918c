"""Models of both APIs that are told of two tools, for tests of how they are asked and read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from conversations.context import tools
from conversations.llm.port import Delta
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import Provider
from conversations.llm.request import Prompt
from tests.faults.providers import KEY, Naps
from tests.llm_server import LlmServer

SUM = ("calculate", '{"expression": "17 * 3"}')
QUESTION = {"role": "user", "content": "What is 17 * 3?"}
PROMPT = Prompt((QUESTION,), tools=(tools.CALCULATE, tools.CURRENT_TIME))
LAST = replace(PROMPT, may_call=False)
APIS = pytest.mark.parametrize("api", [OpenAICompatible, Anthropic])


def model_of(api: type[Provider], llm: LlmServer, **how: Any) -> Provider:
    return api(
        name="Writer", model="writer-1", base_url=llm.url, api_key=KEY, max_tokens=200, timeout=2, sleep=Naps(), **how
    )


async def heard(model: Provider, prompt: Prompt = PROMPT) -> list[Delta]:
    async with aclosing(model.stream(prompt)) as deltas:
        return [delta async for delta in deltas]


def calls_of(deltas: Iterable[Delta]) -> list[tuple[str, str]]:
    *others, last = deltas
    assert not any(delta.calls for delta in others)
    return [(call.name, call.arguments) for call in last.calls]
