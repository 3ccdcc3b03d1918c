from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from conversations.llm import known_models
from conversations.llm.profiles import connect, default_profile, summary_profiles, sync_profiles
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.builtin import Builtin
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.request import Prompt
from conversations.models import ModelProfile
from tests.conversations.api_client import Api
from tests.llm_server import LlmServer

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ANYBODY = 0
"""A person of no group."""
BUILTIN = "SmolLM2 135M (demo)"


@pytest.fixture(autouse=True)
def environment(settings, tmp_path):
    """Nothing is set and there is no built-in model; a test sets what it is about."""
    for name in ("API_KEY", "BASE_URL", "MODEL", "FAST_MODEL", "STANDARD_MODEL"):
        setattr(settings, f"OPENAI_{name}", "")
        setattr(settings, f"ANTHROPIC_{name}", "")
    settings.OPENAI_CONTEXT_WINDOW = None
    settings.BUILTIN_MODEL_PATH = tmp_path / "model.gguf"
    return settings


@pytest.fixture
def with_builtin(environment, tmp_path, monkeypatch):
    """The model's file, and a package of the engine's name to be found (it is not imported here)."""
    environment.BUILTIN_MODEL_PATH.write_bytes(b"GGUF")
    (tmp_path / "xllamacpp.py").touch()
    monkeypatch.syspath_prepend(tmp_path)


def the_only_profile() -> ModelProfile:
    """The only one that chats; with a key alone, another one writes quick summaries."""
    return ModelProfile.objects.get(role="chat")


def test_an_empty_environment_gives_no_model():
    sync_profiles()
    assert not ModelProfile.objects.exists()
    assert default_profile(ANYBODY) is None


def test_a_key_alone_gives_a_model_of_openai(environment):
    environment.OPENAI_API_KEY = "sk-1"
    sync_profiles()
    profile = the_only_profile()
    assert (profile.name, profile.model_id, profile.base_url) == ("gpt-4.1-mini", "gpt-4.1-mini", "")
    assert (profile.window, profile.token_correction, profile.is_local) == (1_047_576, 1.05, False)
    assert profile.price_input == Decimal("0.40") and profile.price_output == Decimal("1.60")
    assert profile.from_environment and profile.enabled
    assert default_profile(ANYBODY) == profile


def test_a_base_url_alone_gives_a_local_model_of_unknown_window(environment):
    environment.OPENAI_BASE_URL = "http://127.0.0.1:8080/v1"
    sync_profiles()
    profile = the_only_profile()
    assert (profile.window, profile.token_correction, profile.is_local) == (8_192, 1.25, True)
    assert profile.price_input is None


def test_models_for_summaries_have_profiles_of_their_own(environment):
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4o"
    environment.OPENAI_FAST_MODEL, environment.OPENAI_STANDARD_MODEL = "gpt-4o-mini", "gpt-4o"
    sync_profiles()
    chat = default_profile(ANYBODY)
    fast, standard = summary_profiles("fast", chat)[0], summary_profiles("standard", chat)[0]
    assert (chat.model_id, fast.model_id, standard.model_id) == ("gpt-4o", "gpt-4o-mini", "gpt-4o")
    assert (chat.role, fast.role, standard.role) == ("chat", "fast", "standard")


def test_a_chat_model_summarises_where_no_other_does(environment):
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4.1-mini"
    sync_profiles()
    assert summary_profiles("fast", default_profile(ANYBODY)) == [default_profile(ANYBODY)]


@pytest.mark.parametrize(
    ("provider", "fast", "standard"),
    [("OPENAI", "gpt-4.1-nano", "gpt-4.1-mini"), ("ANTHROPIC", "claude-haiku-4-5", "claude-sonnet-5-5")],
)
def test_with_a_key_alone_a_small_model_writes_quick_summaries(environment, provider, fast, standard):
    setattr(environment, f"{provider}_API_KEY", "sk-1")
    sync_profiles()
    assert summary_profiles("fast", default_profile(ANYBODY))[0].model_id == fast
    assert summary_profiles("standard", default_profile(ANYBODY))[0].model_id == standard
    setattr(environment, f"{provider}_FAST_MODEL", "another")
    sync_profiles()
    assert summary_profiles("fast", default_profile(ANYBODY))[0].model_id == "another"


def test_a_key_alone_gives_a_model_of_anthropic(environment):
    environment.ANTHROPIC_API_KEY = "sk-ant-1"
    sync_profiles()
    profile = the_only_profile()
    assert (profile.name, profile.provider, profile.base_url) == ("claude-sonnet-5-5", "anthropic", "")
    assert (profile.window, profile.token_correction, profile.is_local) == (1_000_000, 1.25, False)
    prices = (profile.price_input, profile.price_cached, profile.price_output)
    assert prices == (Decimal("2"), Decimal("0.1"), Decimal("10"))
    assert profile.api_key == "sk-ant-1" and default_profile(ANYBODY) == profile


def test_a_local_server_with_anthropics_api_has_no_price(environment):
    environment.ANTHROPIC_BASE_URL, environment.ANTHROPIC_MODEL = "http://litellm:4000", "claude-haiku-4-5"
    sync_profiles()
    profile = the_only_profile()
    assert (profile.is_local, profile.price_input, profile.window) == (True, None, 200_000)


def test_each_provider_summarises_its_own_conversations(environment):
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4o"
    environment.OPENAI_FAST_MODEL = "gpt-4o-mini"
    environment.ANTHROPIC_API_KEY, environment.ANTHROPIC_MODEL = "sk-ant-1", "claude-sonnet-5-5"
    environment.ANTHROPIC_FAST_MODEL, environment.ANTHROPIC_STANDARD_MODEL = "claude-haiku-4-5", "claude-opus-5-5"
    sync_profiles()
    gpt, claude = (ModelProfile.objects.get(name=name) for name in ("gpt-4o", "claude-sonnet-5-5"))
    assert default_profile(ANYBODY) == gpt
    assert summary_profiles("fast", gpt)[0].model_id == "gpt-4o-mini"
    assert summary_profiles("fast", claude)[0].model_id == "claude-haiku-4-5"
    assert summary_profiles("standard", claude)[0].model_id == "claude-opus-5-5"
    assert summary_profiles("standard", gpt)[0].model_id == "claude-opus-5-5"


def test_the_window_that_is_set_counts_more_than_the_known_one(environment):
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4o"
    environment.OPENAI_CONTEXT_WINDOW = 20_000
    sync_profiles()
    assert the_only_profile().window == 20_000


def test_what_was_learned_or_edited_outlives_a_start(environment):
    environment.OPENAI_API_KEY = "sk-1"
    sync_profiles()
    ModelProfile.objects.update(token_correction=1.1, window=50_000, max_reply_tokens=700, price_input=3)
    environment.OPENAI_API_KEY = "sk-2"
    sync_profiles()
    profile = the_only_profile()
    assert (profile.token_correction, profile.window, profile.max_reply_tokens) == (1.1, 50_000, 700)
    assert (profile.price_input, profile.api_key) == (3, "sk-2")


def test_the_key_is_not_readable_in_the_database(environment):
    environment.OPENAI_API_KEY = "sk-very-secret"
    sync_profiles()
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM conversations_modelprofile")
        (stored,) = cursor.fetchone()
    assert stored and "secret" not in stored


def test_a_model_that_is_no_longer_configured_is_turned_off_and_back_on(environment):
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4o"
    sync_profiles()
    environment.OPENAI_MODEL = "gpt-4.1"
    sync_profiles()
    assert dict(ModelProfile.objects.values_list("name", "enabled")) == {"gpt-4o": False, "gpt-4.1": True}
    assert default_profile(ANYBODY).name == "gpt-4.1"
    environment.OPENAI_MODEL = "gpt-4o"
    sync_profiles()
    assert dict(ModelProfile.objects.values_list("name", "enabled")) == {"gpt-4o": True, "gpt-4.1": False}


def test_an_administrators_profiles_are_left_alone(environment):
    ModelProfile.objects.create(name="gpt-4o", model_id="mine", base_url="http://10.0.0.2/v1")
    ModelProfile.objects.create(name="other", model_id="other")
    environment.OPENAI_API_KEY, environment.OPENAI_MODEL = "sk-1", "gpt-4o"
    sync_profiles()
    assert {(row.name, row.model_id, row.enabled) for row in ModelProfile.objects.all()} == {
        ("gpt-4o", "mine", True),
        ("other", "other", True),
    }


def test_the_built_in_model_comes_last(environment, with_builtin):
    sync_profiles()
    profile = default_profile(ANYBODY)
    assert (profile.name, profile.provider, profile.window) == (BUILTIN, "builtin", 8_192)
    assert (profile.max_reply_tokens, profile.parameters_billion, profile.is_local) == (512, 0.135, True)
    environment.OPENAI_API_KEY = "sk-1"
    sync_profiles()
    assert default_profile(ANYBODY).provider == "openai"


def test_the_built_in_model_does_not_summarise(environment, with_builtin):
    sync_profiles()
    assert summary_profiles("fast", default_profile(ANYBODY)) == []
    environment.OPENAI_API_KEY, environment.OPENAI_FAST_MODEL = "sk-1", "gpt-4o-mini"
    sync_profiles()
    assert summary_profiles("fast", ModelProfile.objects.get(name=BUILTIN))[0].model_id == "gpt-4o-mini"


def test_the_built_in_model_is_turned_off_where_its_file_is_gone(environment, with_builtin):
    sync_profiles()
    environment.BUILTIN_MODEL_PATH.unlink()
    sync_profiles()
    assert default_profile(ANYBODY) is None


async def test_a_profile_is_asked_with_its_address_key_and_limit():
    with LlmServer() as llm:
        profile = ModelProfile(name="Mine", model_id="mine-1", base_url=llm.url, api_key="sk-9", max_reply_tokens=300)
        model = connect(profile)
        assert isinstance(model, OpenAICompatible) and model.name == "Mine"
        [_ async for _ in model.stream(Prompt(({"role": "user", "content": "hi"},)))]
        assert (llm.last_request.body["model"], llm.last_request.body["max_tokens"]) == ("mine-1", 300)
        assert llm.last_request.headers["authorization"] == "Bearer sk-9"


@pytest.mark.parametrize(("most", "sent"), [(None, 7_192), (300, 300), (50_000, 7_192)])
async def test_a_profile_of_anthropic_is_asked_for_no_more_than_its_window_leaves(most, sent):
    with LlmServer() as llm:
        profile = ModelProfile(
            name="Mine",
            provider="anthropic",
            model_id="mine-1",
            base_url=llm.url,
            api_key="sk-9",
            max_reply_tokens=most,
        )
        model = connect(profile, used=1_000)
        assert isinstance(model, Anthropic) and model.name == "Mine"
        [_ async for _ in model.stream(Prompt(({"role": "user", "content": "hi"},)))]
        assert llm.last_request.path == "/v1/messages"
        assert (llm.last_request.body["model"], llm.last_request.body["max_tokens"]) == ("mine-1", sent)


@pytest.mark.parametrize(
    "url", ["", "http://ollama:11434/v1", "https://api.example.org", "http://[::1]:8080/v1", "http://10.0.0.2"]
)
def test_an_address_within_a_network_is_taken(url):
    ModelProfile(name="Mine", model_id="mine-1", base_url=url).full_clean()


@pytest.mark.parametrize(
    "url", ["ollama:11434", "ftp://ollama/v1", "http://", "http://[", "http://a b/v1", "javascript:alert(1)"]
)
def test_an_address_that_cannot_be_asked_is_refused(url):
    with pytest.raises(ValidationError, match="http://"):
        ModelProfile(name="Mine", model_id="mine-1", base_url=url).full_clean()


def test_all_conversations_share_one_built_in_model(with_builtin):
    profile = ModelProfile(name=BUILTIN, provider=ModelProfile.Provider.BUILTIN)
    assert isinstance(connect(profile), Builtin)
    assert connect(profile) is connect(profile)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o", 128_000),
        ("gpt-4o-mini-2024-07-18", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-preview", 128_000),
        ("gpt-5-mini", 400_000),
        ("gpt-5.1-chat-latest", 128_000),
        ("o4-mini", 200_000),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
        ("llama3.2:3b", 131_072),
        ("qwen2.5-coder:7b", 32_768),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-3-5-sonnet-latest", 200_000),
        ("anthropic/claude-sonnet-4-6", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("gemini-3-pro-preview", 1_048_576),
        ("google/gemini-2.5-flash-lite", 1_048_576),
        ("gemini-2.5-flash-image", 32_768),
        ("grok-4", 256_000),
        ("x-ai/grok-4.1-fast", 2_000_000),
        ("moonshotai/kimi-k2-thinking", 262_144),
        ("deepseek/deepseek-v3.2-exp", 131_072),
        ("z-ai/glm-4.7", 200_000),
        ("MiniMax-M2.1", 196_608),
        ("meta-llama/llama-4-scout-17b-16e-instruct", 131_072),
        ("qwen3-coder-plus", 262_144),
        ("qwen3:8b", 32_768),
        ("gemma3:1b", 32_768),
        ("mixtral-8x22b", 65_536),
        ("mistral-small3.2:24b", 131_072),
        ("open-mistral-nemo", 131_072),
        ("mistral-tiny", 8_192),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
        ("amazon.nova-pro-v1:0", 300_000),
        ("gpt-45", 8_192),
        ("whatever", 8_192),
    ],
)
def test_windows_are_known_by_id(model, window):
    assert known_models.window_of(model) == window


def test_a_price_is_known_only_for_exactly_that_model_at_openai():
    assert known_models.price_of("gpt-4o-mini-2024-07-18", "").input == Decimal("0.15")
    assert known_models.price_of("gpt-4o-search-preview", "") is None
    assert known_models.price_of("gpt-4o", "https://proxy.example/v1") is None


def test_a_price_is_known_only_for_exactly_that_model_at_anthropic():
    assert known_models.price_of("claude-haiku-4-5-20251001", known_models.ANTHROPIC_URL) == (1, Decimal("0.1"), 5)
    assert known_models.price_of("claude-haiku-5-5", known_models.ANTHROPIC_URL) is None
    assert known_models.price_of("claude-sonnet-9", known_models.ANTHROPIC_URL) is None
    assert known_models.price_of("claude-haiku-4-5", "https://proxy.example") is None
    assert known_models.price_of("claude-haiku-4-5", "") is None


def test_sizes_are_read_from_ids():
    ids = ["llama3.1:8b", "Qwen2.5-0.5B-Instruct", "smollm2-135m-instruct", "gpt-oss-20b", "gpt-4o", "mixtral-b7"]
    assert [known_models.parameters_of(name) for name in ids] == [8, 0.5, 0.135, 20, None, None]


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://192.168.1.7/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://box.local/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_a_local_address_is_told_from_a_public_one(url, local):
    assert known_models.is_local(url) is local


def test_openai_is_told_by_its_host():
    assert known_models.is_openai("") and known_models.is_openai("https://eu.api.openai.com/v1")
    assert not known_models.is_openai("https://openai.com.example/v1")
    assert not known_models.is_openai("http://localhost/openai.com")


def own_server(environment: Any, **more: Any) -> None:
    environment.OPENAI_BASE_URL, environment.OPENAI_MODEL = "http://127.0.0.1:8080/v1", "my-own-7b"
    environment.OPENAI_FAST_MODEL, environment.OPENAI_STANDARD_MODEL = "my-fast-1b", "llama-3.1-8b-instruct"
    for name, value in more.items():
        setattr(environment, name, value)
    sync_profiles()


def windows() -> dict[str, int]:
    return dict(ModelProfile.objects.values_list("role", "window"))


def test_a_model_for_summaries_that_nobody_knows_has_the_window_of_its_server(environment):
    own_server(environment, OPENAI_CONTEXT_WINDOW=60_000)
    assert windows() == {"chat": 60_000, "fast": 60_000, "standard": 131_072}
    ModelProfile.objects.filter(role="fast").update(window=12_000)
    sync_profiles()
    assert windows()["fast"] == 12_000, "what was edited stays"


def test_one_that_was_made_without_it_has_it_from_the_next_start_on(environment):
    own_server(environment)
    assert windows() == {"chat": 8_192, "fast": 8_192, "standard": 131_072}
    ModelProfile.objects.filter(role="chat").update(window=60_000)
    sync_profiles()
    assert windows()["fast"] == 60_000


def test_what_was_learned_of_a_server_is_forgotten_with_its_address(environment):
    own_server(environment)
    ModelProfile.objects.update(chat_template="strict")
    sync_profiles()
    assert set(ModelProfile.objects.values_list("chat_template", flat=True)) == {"strict"}
    environment.OPENAI_BASE_URL = "http://127.0.0.1:9090/v1"
    sync_profiles()
    assert set(ModelProfile.objects.values_list("chat_template", flat=True)) == {"free"}


@pytest.mark.parametrize(
    ("fast", "standard", "expected"),
    [
        ("", "", ("claude-haiku-4-5 (fast summaries)", "claude-sonnet-5-5")),
        ("claude-haiku-4-5", "", ("claude-haiku-4-5 (fast summaries)", "claude-sonnet-5-5")),
        (
            "claude-haiku-4-5",
            "claude-opus-5-5",
            ("claude-haiku-4-5 (fast summaries)", "claude-opus-5-5 (standard summaries)"),
        ),
    ],
)
def test_the_api_says_who_summarises_and_one_model_for_both_is_not_told_as_two(
    environment, user, fast, standard, expected
):
    environment.ANTHROPIC_API_KEY = "sk-ant-1"
    environment.ANTHROPIC_FAST_MODEL, environment.ANTHROPIC_STANDARD_MODEL = fast, standard
    sync_profiles()
    told = next(row for row in Api(user).get("/api/models").json()["items"] if row["provider"] == "anthropic")
    assert (told["summarisers"]["fast"], told["summarisers"]["standard"]) == expected
