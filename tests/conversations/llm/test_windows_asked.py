"""The window of a model on a server of one's own is asked for, in the shape of each kind of server."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conversations.llm import profiles
from conversations.llm.windows import windows
from conversations.llm.windows.window_answers import Window, openai_models
from conversations.llm.windows.window_queries import ask_window
from conversations.llm.windows.window_words import how_known, lowered
from conversations.models import ModelProfile
from tests import llm_windows
from tests.conversations.api_client import Api
from tests.llm_server import LlmServer, closed_port

pytestmark = pytest.mark.once

Source = ModelProfile.WindowSource
MODEL = "qwen3:8b"


@pytest.fixture
def own(transactional_db: None, llm: LlmServer) -> ModelProfile:
    """A profile whose window nobody named."""
    return ModelProfile.objects.create(
        name="own", model_id=MODEL, base_url=llm.url, api_key="sk-own", window=8_192, window_source=Source.DEFAULT
    )


def asked(profile: ModelProfile) -> tuple[int, str, str]:
    async_to_sync(windows.ask)(profile.pk)
    profile.refresh_from_db()
    return profile.window, profile.window_source, profile.window_server


@pytest.mark.parametrize(
    ("facts", "window", "server"),
    [
        (llm_windows.ollama(MODEL, loaded=4_096), 4_096, "Ollama"),
        (llm_windows.ollama(MODEL, loaded=40_960, num_ctx=32_768), 40_960, "Ollama"),
        (llm_windows.ollama(MODEL, num_ctx=32_768), 32_768, "Ollama"),
        (llm_windows.llama_cpp(16_384), 16_384, "llama.cpp"),
        (llm_windows.vllm(MODEL, 32_768), 32_768, "vLLM"),
        (llm_windows.vllm(MODEL, 163_840, owner="sglang"), 163_840, "SGLang"),
        (llm_windows.vllm("another, the only one", 2_048), 2_048, "vLLM"),
        (llm_windows.lm_studio(MODEL, loaded=8_000), 8_000, "LM Studio"),
        (llm_windows.litellm(MODEL, 200_000, 128_000), 128_000, "LiteLLM"),
        (llm_windows.vllm(MODEL, 32_768) | llm_windows.litellm(MODEL, 64_000), 32_768, "vLLM"),
    ],
)
def test_each_kind_of_server_is_asked_in_its_own_way(
    own: ModelProfile, llm: LlmServer, facts: dict[str, Any], window: int, server: str
) -> None:
    llm.facts = facts
    assert asked(own) == (window, "asked", server)
    assert f"Asked of {server}, " in how_known(own) and own.window_known_at is not None
    assert not llm.received, "no model was asked for a reply"


OPENROUTER = {"id": MODEL, "context_length": 262_144, "top_provider": {"context_length": 131_072}}
HOSTED = [
    ({"data": [OPENROUTER, {"id": "other", "context_length": 1_000}]}, 131_072),
    ({"data": [{"id": MODEL, "object": "model", "owned_by": "Meta", "context_window": 131_072}]}, 131_072),
    ({"data": [{"id": MODEL, "owned_by": "mistralai", "max_context_length": 262_144}]}, 262_144),
    ([{"id": MODEL, "object": "model", "context_length": 65_536}], 65_536),
    ({"data": [{"id": MODEL, "metadata": {"context_length": 40_960, "max_tokens": 4_096}}]}, 40_960),
    ({"data": [{"id": MODEL, "context_size": 98_304}]}, 98_304),
    ([{"id": MODEL, "limits": {"max_input_tokens": 131_072, "max_output_tokens": 4_096}}, {"id": "other"}], 131_072),
    ({"models": [{"name": f"models/{MODEL}", "inputTokenLimit": 1_048_576}, {"name": "models/other"}]}, 1_048_576),
    ({"data": [{"id": MODEL, "model_spec": {"availableContextTokens": 65_536}}]}, 65_536),
    ({"data": [{"id": MODEL, "top_provider": None, "metadata": [], "context_length": "many"}]}, None),
    ({"data": [{"id": "one"}, {"id": "other", "context_length": 65_536}]}, None),
]


@pytest.mark.parametrize(("listed", "tokens"), HOSTED)
def test_hosts_list_the_windows_of_their_models(listed: Any, tokens: int | None) -> None:
    assert (tokens and Window(tokens, "its list of models", of_host=True)) == openai_models(listed, MODEL)


def test_a_variant_of_a_listed_model_has_its_window() -> None:
    found = openai_models({"data": [OPENROUTER, {"id": "other"}]}, f"{MODEL}:nitro")
    assert found and found.tokens == 131_072


def test_a_host_s_field_is_a_limit_at_a_server_of_one_s_own(own: ModelProfile, llm: LlmServer) -> None:
    llm.facts = {"/v1/models": {"data": [{"id": MODEL, "max_context_length": 262_144}]}}
    assert asked(own) == (8_192, "default", "")
    llm.facts = {"/v1/models": {"data": [{"id": MODEL, "max_context_length": 4_096}]}}
    assert asked(own) == (4_096, "default", "its list of models")


def test_a_model_that_is_not_loaded_is_read_to_its_own_limit_at_most(own: ModelProfile, llm: LlmServer) -> None:
    llm.facts = llm_windows.ollama(MODEL, most=262_144)
    assert asked(own) == (8_192, "default", ""), "the limit of the model says nothing of how it will be loaded"
    llm.facts = llm_windows.lm_studio(MODEL, most=2_048)
    assert asked(own) == (2_048, "default", "LM Studio")
    assert "at most what LM Studio says" in how_known(own)
    llm.facts = llm_windows.lm_studio(MODEL, most=131_072, loaded=65_536)
    assert asked(own) == (65_536, "asked", "LM Studio")


ABSURD = [0, -1, 1, 10**12, "32768", 3.5, True, None, [], {"n": 1}]


@pytest.mark.parametrize("number", ABSURD, ids=repr)
def test_numbers_that_no_window_has_are_no_answer(own: ModelProfile, llm: LlmServer, number: Any) -> None:
    shown = llm_windows.ollama(MODEL, most=number)
    shown["/api/ps"] = {"models": [{"name": MODEL, "context_length": number}]}
    shapes = [shown, llm_windows.llama_cpp(number), llm_windows.vllm(MODEL, number), llm_windows.litellm(MODEL, number)]
    for facts in [*shapes, llm_windows.lm_studio(MODEL, most=number, loaded=number)]:
        llm.facts = facts
        assert asked(own) == (8_192, "default", "")


SHAPES: list[Any] = [
    *(b"", b"{", b"\xff\xfe", b"<!doctype html>", "text", 7, [], [1], {}, {"models": 1, "data": "x"}),
    {"models": [None, 3, {}], "data": [None, [], {"id": 4}], "default_generation_settings": []},
    {"models": [{"name": 3, "model": []}], "parameters": 4, "model_info": [], "default_generation_settings": None},
    {"data": [{"id": MODEL, "model_name": MODEL, "model_info": 3, "owned_by": []}], "parameters": "num_ctx x"},
]


@pytest.mark.parametrize("body", SHAPES, ids=str)
def test_an_answer_of_another_shape_is_none(own: ModelProfile, llm: LlmServer, body: Any) -> None:
    llm.facts = dict.fromkeys(("/api/ps", "/api/show", "/props", "/api/v0/models", "/model/info", "/v1/models"), body)
    assert asked(own) == (8_192, "default", "")


def test_an_endless_answer_is_not_read_to_its_end(own: ModelProfile, llm: LlmServer) -> None:
    llm.facts = {"/props": llm_windows.llama_cpp()["/props"] | {"chat_template": "x" * 5_000_000}}
    assert asked(own) == (8_192, "default", "")


def test_a_server_that_is_away_or_slow_costs_nothing(own: ModelProfile, llm: LlmServer, monkeypatch: Any) -> None:
    with closed_port() as url:
        ModelProfile.objects.update(base_url=url)
        assert asked(own)[:2] == (8_192, "default")
    ModelProfile.objects.update(base_url=llm.url)
    monkeypatch.setattr("conversations.llm.windows.window_queries.QUERY_SECONDS", 0.2)
    llm.facts_delay, llm.facts = 5.0, llm_windows.llama_cpp()
    began = time.monotonic()
    assert asked(own)[:2] == (8_192, "default")
    assert time.monotonic() - began < 3


def test_only_the_profile_s_own_address_is_asked_with_its_key(own: ModelProfile, llm: LlmServer) -> None:
    with LlmServer() as other:
        other.facts = llm_windows.llama_cpp(1_000_000)
        llm.redirects = other.url.removesuffix("/v1") + "/props"
        assert asked(own)[:2] == (8_192, "default")
        assert other.connections == 0
    assert len(llm.asked) >= 5 and set(llm.asked_keys) == {"Bearer sk-own"}


@pytest.mark.parametrize(("provider", "url"), [("openai", ""), ("openai", "https://api.openai.com/v1")])
def test_a_provider_of_its_own_is_never_asked(own: ModelProfile, provider: str, url: str) -> None:
    own.provider, own.base_url = provider, url
    assert async_to_sync(ask_window)(own) is None
    own.provider, own.base_url = "anthropic", "https://api.anthropic.com"
    assert async_to_sync(ask_window)(own) is None
    own.provider, own.base_url = "builtin", "http://127.0.0.1:1/v1"
    assert async_to_sync(ask_window)(own) is None


def test_a_window_set_by_hand_is_only_lowered_and_that_is_told(own: ModelProfile, llm: LlmServer) -> None:
    ModelProfile.objects.update(window=32_768, window_source=Source.HAND)
    llm.facts = llm_windows.ollama(MODEL, loaded=65_536)
    assert asked(own)[:2] == (32_768, "hand") and lowered(own) == ""
    llm.facts = llm_windows.ollama(MODEL, loaded=4_096)
    assert asked(own)[:2] == (4_096, "asked") and own.window_replaced == 32_768
    assert "reads 4,096 tokens, not 32,768: as it says itself" in lowered(own)


def test_what_was_disproved_does_not_come_back(own: ModelProfile, llm: LlmServer) -> None:
    llm.facts = llm_windows.litellm(MODEL, 128_000)
    asked(own)
    windows.lower(own, 4_000, source=Source.COUNTED)
    assert asked(own)[:2] == (4_000, "counted") and own.window_replaced == 128_000
    llm.facts = llm_windows.ollama(MODEL, loaded=8_192)
    assert asked(own)[:2] == (8_192, "asked")


def test_models_for_summaries_inherit_the_window_of_their_server_unless_it_names_theirs(
    own: ModelProfile, llm: LlmServer
) -> None:
    common = {"base_url": llm.url, "window": 8_192, "window_source": Source.DEFAULT}
    fast = ModelProfile.objects.create(name="fast", model_id="small", role="fast", **common)
    named = ModelProfile.objects.create(name="named", model_id="other", role="standard", **common)
    edited = ModelProfile.objects.create(
        name="edited", model_id="third", role="fast", **common | {"window": 3_000, "window_source": Source.HAND}
    )
    elsewhere = ModelProfile.objects.create(
        name="elsewhere", model_id="small", role="fast", **common | {"base_url": "http://127.0.0.1:1/v1"}
    )
    mine, other = llm_windows.vllm(MODEL, 24_000)["/v1/models"]["data"], llm_windows.vllm("other", 6_000)["/v1/models"]
    llm.facts = {"/v1/models": {"object": "list", "data": [*mine, *other["data"]]}}
    async_to_sync(windows.ask_all)(profiles.enabled())
    rows = {row.pk: (row.window, row.window_source) for row in ModelProfile.objects.all()}
    assert rows[own.pk] == (24_000, "asked") and rows[fast.pk] == (24_000, "inherited")
    assert rows[named.pk] == (6_000, "asked") and rows[edited.pk] == (3_000, "hand")
    assert rows[elsewhere.pk] == (8_192, "default")
    own.refresh_from_db()
    windows.lower(own, 5_000, source=Source.COUNTED)
    fast.refresh_from_db()
    assert fast.window == 5_000


def test_a_profile_of_the_environment_is_learned_anew_at_another_address(settings: Any, db: None) -> None:
    for name in ("API_KEY", "FAST_MODEL", "STANDARD_MODEL"):
        setattr(settings, f"OPENAI_{name}", "")
    settings.OPENAI_CONTEXT_WINDOW = None
    settings.OPENAI_BASE_URL, settings.OPENAI_MODEL = "http://127.0.0.1:8080/v1", "my-own"
    profiles.sync_profiles()
    row = ModelProfile.objects.get(model_id="my-own")
    assert (row.window, row.window_source) == (8_192, "default")
    windows.lower(row, 2_000, source=Source.COUNTED)
    profiles.sync_profiles()
    row.refresh_from_db()
    assert (row.window, row.window_replaced) == (2_000, 8_192), "what was learned stays"
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9090/v1"
    profiles.sync_profiles()
    row.refresh_from_db()
    assert (row.window, row.window_source, row.window_replaced) == (8_192, "default", None)
    settings.OPENAI_CONTEXT_WINDOW = 20_000
    profiles.sync_profiles()
    row.refresh_from_db()
    assert (row.window, row.window_source) == (20_000, "hand")
    windows.lower(row, 2_000, source=Source.COUNTED)
    profiles.sync_profiles()
    row.refresh_from_db()
    assert (row.window, row.window_source) == (10_000, "counted"), "a disproved window does not come back at a start"
    settings.OPENAI_CONTEXT_WINDOW = 30_000
    profiles.sync_profiles()
    row.refresh_from_db()
    assert (row.window, row.window_source) == (30_000, "hand"), "another one is the administrator's word"


def test_a_second_reply_asks_nothing_more(own: ModelProfile, llm: LlmServer) -> None:
    windows.ask_if_unknown(own)
    times = len(llm.asked)
    assert times
    with CaptureQueriesContext(connection) as queries:
        windows.ask_if_unknown(own)
    assert len(llm.asked) == times and not queries.captured_queries


def test_the_api_says_how_a_window_is_known(own: ModelProfile, llm: LlmServer, user: Any) -> None:
    llm.facts = llm_windows.llama_cpp(12_000)
    asked(own)
    (row,) = Api(user).get("/api/models").json()["items"]
    assert (row["window_source"], row["window"]) == ("asked", 12_000)
