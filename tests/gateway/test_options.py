"""What a call may carry: options by a list, and no address that leads into the operator's network."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from conversations.errors import Invalid
from conversations.gateway.addresses import require_reachable
from conversations.models import ModelProfile
from tests.faults.serving import serving
from tests.gateway.caller import Caller
from tests.gateway.conftest import SETTINGS
from tests.llm_answers import Request
from tests.llm_templates import complaint
from tests.servers import wait_until

INSIDE = "http://169.254.169.254/latest/meta-data/"
PNG = "data:image/png;base64," + "iVBORw0KGgo" * 4


def asked(caller: Caller, *parts: Any, **options: Any) -> httpx2.Response:
    content: Any = list(parts) or "Hi."
    body = {"model": "scripted", "messages": [{"role": "user", "content": content}]} | options
    return caller.post(json.dumps(body))


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def require_refused(caller: Caller, response: httpx2.Response, field: str) -> None:
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "invalid", field), error
    assert error["message"].startswith(f"{field}: ")
    assert caller.served.llm.received == [], "nothing of it has left"


@pytest.mark.parametrize(
    "part",
    [
        image(INSIDE),
        image("https://example.com/cat.png"),
        image("//example.com/cat.png"),
        image("file:///etc/passwd"),
        image("/etc/passwd"),
        image(" \thttp://127.0.0.1/"),
        {"type": "video_url", "video_url": {"url": INSIDE}},
        {"type": "audio_url", "audio_url": {"url": INSIDE}},
        {"type": "file", "file": {"file_url": INSIDE}},
        {"type": "input_audio", "input_audio": {"data": INSIDE, "format": "wav"}},
    ],
)
def test_no_address_passes_to_a_server_of_one_s_own(caller: Caller, part: dict[str, Any]) -> None:
    kind = part["type"]
    inner = next(name for name in part[kind] if name != "format")
    require_refused(caller, asked(caller, part), f"messages[0].content[0].{kind}.{inner}")


@pytest.mark.parametrize("part", [{"type": "image", "image": INSIDE}, {"type": "image_embeds", "image_embeds": "gAR"}])
def test_parts_that_are_not_known_do_not_pass(caller: Caller, part: dict[str, Any]) -> None:
    require_refused(caller, asked(caller, part), "messages[0].content[0].type")


def test_a_file_kept_with_the_provider_is_not_the_caller_s(caller: Caller) -> None:
    part = {"type": "file", "file": {"file_id": "file-1"}}
    require_refused(caller, asked(caller, part), "messages[0].content[0].file.file_id")


@pytest.mark.parametrize(
    "part",
    [
        image(PNG) | {"cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "See http://127.0.0.1/"},
        {"type": "input_audio", "input_audio": {"data": "//uQxAAA", "format": "mp3"}},
    ],
)
def test_data_and_words_pass(caller: Caller, part: dict[str, Any]) -> None:
    assert asked(caller, part).status_code == 200
    assert caller.sent[0]["content"] == [part]


DROPPED = [
    ("store", True),
    ("service_tier", "priority"),
    ("service_tier", "flex"),
    ("metadata", {"a": "b"}),
    ("web_search_options", {"a": 1}),
    ("prediction", {"type": "content", "content": "x"}),
    ("audio", {"voice": "alloy", "format": "mp3"}),
    ("prompt_cache_retention", "24h"),
    ("chat_template", "{{ 1 }}"),
    ("api_base", INSIDE),
    ("extra_headers", {"a": "b"}),
    ("id_slot", 1),
    ("n_predict", 10**9),
    ("ignore_eos", True),
    ("x_unknown", {"a": [1, None]}),
]


@pytest.mark.parametrize(("name", "value"), DROPPED)
def test_what_costs_stores_or_leads_elsewhere_is_left_out_and_named(caller: Caller, name: str, value: Any) -> None:
    answer = asked(caller, **{name: value})
    assert (answer.status_code, answer.headers["x-chatsite-left-out"]) == (200, name)
    assert name not in caller.served.llm.chats[-1].body


def test_left_out_options_are_named_in_order_and_odd_names_do_no_harm(caller: Caller) -> None:
    answer = asked(caller, **{"zeta\r\nX-Evil: 1": 1, "alpha": 2, "user": "u", "metadata": None})
    assert answer.headers["x-chatsite-left-out"] == "alpha, zeta??X-Evil??1" and "x-evil" not in answer.headers
    assert "x-chatsite-left-out" not in asked(caller, user="u").headers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("previous_response_id", "resp_1"),
        ("modalities", ["text", "audio"]),
        ("n", 128),
        ("n", 5),
        ("n", 0),
        ("n", "2"),
        ("n", True),
        ("max_tokens", -2),
        ("max_tokens", True),
        ("max_completion_tokens", "9"),
        ("chat_template_kwargs", {"chat_template": "{{ 1 }}"}),
        ("chat_template_kwargs", {"deep": {"er": 1}}),
    ],
)
def test_what_has_no_meaning_without_what_it_names_or_is_no_value_is_refused_by_name(
    caller: Caller, name: str, value: Any
) -> None:
    require_refused(caller, asked(caller, **{name: value}), name)


@pytest.mark.parametrize("value", [0, -1, None])
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_that_says_there_is_none_does_not_pass(caller: Caller, name: str, value: int | None) -> None:
    assert asked(caller, **{name: value}).status_code == 200
    assert name not in caller.served.llm.last_request.body


@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/messages"])
def test_a_call_that_names_no_model_gets_that_of_new_conversations(caller: Caller, path: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "input": "hi", "max_tokens": 50}
    sent = {name: body[name] for name in (("input",) if path == "/responses" else ("messages", "max_tokens"))}
    answer = caller.post(json.dumps(sent), path=path)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == "scripted"


def test_a_tool_that_the_provider_would_carry_out_is_refused(caller: Caller) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "mcp", "server_url": INSIDE}]
    require_refused(caller, asked(caller, tools=tools), "tools[1].type")


def test_what_only_says_what_would_be_without_it_is_left_out(caller: Caller) -> None:
    said = {"store": False, "service_tier": "default", "metadata": None, "audio": None, "web_search_options": None}
    assert asked(caller, **said).status_code == 200
    assert not said.keys() & caller.served.llm.last_request.body.keys()


def test_options_of_sampling_and_thinking_pass_untouched(caller: Caller) -> None:
    options = {
        "n": 2, "temperature": 0.2, "top_k": 5, "min_p": 0.1, "stop": ["x"], "seed": 1, "logit_bias": {"5": -100},
        "user": "me", "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False},
        "response_format": {"type": "json_object"}, "max_tokens": 500,
    }  # fmt: skip
    assert asked(caller, **options).status_code == 200
    sent = caller.served.llm.last_request.body
    assert {name: sent[name] for name in options} == options


def test_an_administrator_allows_more(tmp_path: Path) -> None:
    allowed = {"GATEWAY_OPTIONS": "store, service_tier", "GATEWAY_UNKNOWN_OPTIONS": "refuse"}
    allowed |= {"GATEWAY_IMAGE_URLS": "public"}
    with serving(tmp_path, **SETTINGS | allowed) as served:
        caller = Caller(served)
        picture = image("https://example.com/cat.png")
        assert asked(caller, picture, store=True, service_tier="flex").status_code == 200
        sent = served.llm.last_request.body
        assert (sent["store"], sent["service_tier"]) == (True, "flex")
        assert sent["messages"][0]["content"] == [picture]
        served.llm.clear()
        require_refused(caller, asked(caller, metadata={"a": "b"}), "metadata")
        for url in (INSIDE, "https://10.0.0.1/", "https://[::1]/", "https://2130706433/", "https://intranet/",
                    "https://db.internal/", "https://me@example.com/", "http://example.com/"):  # fmt: skip
            require_refused(caller, asked(caller, image(url)), "messages[0].content[0].image_url.url")


def test_other_names_lead_to_models_of_this_site(tmp_path: Path) -> None:
    names = {"GATEWAY_MODELS": "gpt-9=nowhere, claude-*=scripted, gpt-9=scripted"}
    with serving(tmp_path, **SETTINGS | names) as served:
        caller = Caller(served)
        for name, status in (("claude-haiku-4-5", 200), ("gpt-9", 200), ("gpt-8", 404), ("scripted", 200)):
            answer = caller.post(json.dumps({"model": name, "messages": [{"role": "user", "content": "Hi."}]}))
            assert answer.status_code == status, name
        body = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}
        assert caller.post(json.dumps(body), path="/messages").json()["model"] == "claude-haiku-4-5"
        assert served.llm.last_request.body["model"] != "claude-haiku-4-5"


@pytest.mark.parametrize(
    ("provider", "base_url", "passes"),
    [
        ("openai", "", True),
        ("openai", "https://api.openai.com/v1", True),
        ("anthropic", "", True),
        ("openai", "https://openai.com.example.org/v1", False),
        ("openai", "https://api.example.org/v1", False),
        ("anthropic", "http://127.0.0.1:9/v1", False),
        ("builtin", "", False),
    ],
)
def test_public_addresses_pass_to_the_providers_themselves(
    provider: str, base_url: str, passes: bool, settings: Any
) -> None:
    profile = ModelProfile(provider=provider, base_url=base_url)

    def refused(url: str) -> str:
        with suppress(Invalid):
            require_reachable([{"role": "user", "content": [image(url)]}], profile)
            return ""
        return "messages[0].content[0].image_url.url"

    assert bool(refused("https://example.com/cat.png")) is not passes
    assert refused(INSIDE) and refused("http://example.com/cat.png")
    settings.GATEWAY_IMAGE_URLS = "never"
    assert refused("https://example.com/cat.png") and not refused(PNG)


@pytest.mark.parametrize("template", ["qwen", "mistral", "gemma"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_strict_chat_template_is_met_here_too_and_every_process_knows(
    caller: Caller, template: str, is_stream: bool
) -> None:
    llm = caller.served.llm
    llm.template = template
    caller.rows("UPDATE conversations_modelprofile SET chat_template = 'free' WHERE id > ?", 0)
    history = caller.history(60, words=30)
    body = {"model": "scripted", "messages": history, "stream": is_stream}
    answer = caller.post(json.dumps(body))
    assert answer.status_code == 200 and "All" in answer.text
    assert answer.headers["x-chatsite-checkpoint"] == "made"
    (row,) = caller.rows("SELECT chat_template FROM conversations_modelprofile WHERE name = 'scripted'")
    assert row["chat_template"] == ("no_system" if template == "gemma" else "strict")
    assert llm.last_request.text.count("[Compressed Message Summary]") == 1
    before = len(llm.received)
    assert any(complaint(template, request) for request in llm.received)
    assert caller.post(json.dumps(body)).status_code == 200
    caller.run(
        "import asyncio; from conversations.models import ModelProfile; from conversations.llm.request import Prompt\n"
        "from conversations.llm.profiles import connect\n"
        "prompt = Prompt(tuple({'role': role, 'content': role} for role in ('system', 'system', 'user')))\n"
        "asyncio.run(connect(ModelProfile.objects.get(name='scripted')).complete(prompt, max_tokens=5))"
    )
    assert len(llm.received) == before + 2, "no second refusal, here or in a process that has just begun"
    caller.rows("UPDATE conversations_modelprofile SET chat_template = 'free' WHERE id > ?", 0)


def test_one_person_s_calls_do_not_move_the_counts_of_others(caller: Caller) -> None:
    """The provider reports less for one person's calls, and nearly twice the estimate for another's."""
    llm, name = caller.served.llm, "scripted"
    other = Caller(caller.served, key=caller.key_of("mallory"))

    def correction() -> float:
        query = "SELECT token_correction AS found FROM conversations_modelprofile WHERE name = ?"
        return float(caller.rows(query, name)[0]["found"])

    def reports() -> int:
        query = "SELECT token_reports AS found FROM conversations_modelprofile WHERE name = ?"
        return len(json.loads(caller.rows(query, name)[0]["found"]))

    def call(who: Caller, factor: float, times: int) -> None:
        for _ in range(times):
            messages = who.history(1, words=60)
            counted = Request({"messages": messages}).tokens
            llm.enqueue(usage={"prompt_tokens": round(counted * factor), "completion_tokens": 3})
            assert who.post(json.dumps({"model": name, "messages": messages})).status_code == 200

    caller.rows(
        "UPDATE conversations_modelprofile SET token_correction = 0.76, token_reports = ? WHERE id > 0",
        "[]",  # as it was learned before anybody's reports were kept apart
    )
    call(caller, 0.76, 1)
    caller.call(count=1)
    wait_until(lambda: reports() == 1, what="her report")
    taught = correction()
    call(other, 1.9, 15)
    caller.call(count=16)
    assert abs(taught - 0.76) < 0.001 and correction() == taught
    call(caller, 0.9, 15)
    caller.call(count=31)
    assert taught < correction() < 0.92, "both have moved up: as far as who moved less"
    caller.rows("UPDATE conversations_modelprofile SET token_correction = 1.25, token_reports = '[]' WHERE id > ?", 0)
