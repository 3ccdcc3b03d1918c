"""Lists of models, in the forms of several servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conversations.llm.providers.listed_models import listed_models
from conversations.llm.providers.openai import OpenAICompatible
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

LISTS: list[tuple[Any, list[str]]] = [
    ({"object": "list", "data": [{"id": "b"}, {"id": "a"}]}, ["b", "a"]),
    ([{"id": "a", "type": "chat"}], ["a"]),  # Together, GitHub
    ({"models": [{"name": "llama3:latest", "model": "llama3:latest"}]}, ["llama3:latest"]),  # Ollama
    ({"models": [{"name": "command-r", "endpoints": ["chat"]}]}, ["command-r"]),  # Cohere
    ({"result": [{"id": "17ea", "name": "@cf/meta/llama"}], "success": True}, ["@cf/meta/llama"]),  # Cloudflare
    ({"data": [{"id": "models/gemini-3-pro"}]}, ["gemini-3-pro"]),  # Google
    ({"data": [{"id": "a"}, {}, None, "b", {"id": 7}, {"id": ""}]}, ["a"]),
    *(({"data": {"id": "a"}}, []), (None, []), ("a", []), ({}, []), ([], []), ({"error": "no"}, [])),
]


@pytest.mark.parametrize(("body", "ids"), LISTS)
def test_each_model_of_a_list_is_found(body: Any, ids: list[str]) -> None:
    assert [id for id, _ in listed_models(body)] == ids


@pytest.mark.parametrize(("body", "ids"), LISTS[:8])
def test_the_names_that_a_server_offers_are_sorted(body: Any, ids: list[str]) -> None:
    with LlmServer() as llm:
        llm.facts = {"/v1/models": body}
        model = OpenAICompatible(name="m", model="m", base_url=f"{llm.url}", api_key="sk-x", timeout=5)
        assert list(asyncio.run(model.offered())) == sorted(ids)
