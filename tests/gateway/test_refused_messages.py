"""Servers of Anthropic's kind that refuse fields of Claude Code's requests: the caller's own request, without these."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from conversations.gateway.anthropic.upstream import ask_messages
from conversations.gateway.protocol import Refused
from conversations.models import ModelProfile
from tests.llm_messages import SIGNATURE
from tests.llm_server import LlmServer

Json = dict[str, Any]

GONE = "gone"
MARK = {"type": "ephemeral"}
LONG_MARK = MARK | {"ttl": "1h", "scope": "global"}
PDF = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQKJUVPRg=="},
}
PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
LISTED = {"type": "text", "text": "a.txt"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [LISTED, PIXEL], "cache_control": MARK}
USE = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}, "caller": {"type": "direct"}}
THOUGHT = {"type": "thinking", "thinking": "I should look.", "signature": SIGNATURE}
TOOL = {"name": "Bash", "description": "Runs", "input_schema": {"type": "object"}}
MARKED_TOOL = TOOL | {"cache_control": LONG_MARK}
BRIEF = {"type": "text", "text": "Be brief."}
BODY: Json = {
    "max_tokens": 32_000,
    "stream": True,
    "system": [
        {"type": "text", "text": "You help.", "cache_control": LONG_MARK},
        {"type": "text", "text": "Be brief."},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "List the folder."}]},
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Looking.", "citations": None}, USE]},
        {"role": "user", "content": [RESULT]},
        {"role": "assistant", "content": [{"type": "text", "text": "One file."}]},
        {"role": "user", "content": [PDF, {"type": "text", "text": "And now?"}]},
    ],
    "tools": [MARKED_TOOL | {"type": "custom", "defer_loading": False, "eager_input_streaming": True}],
    "tool_choice": {"type": "auto"},
    "thinking": {"type": "adaptive", "display": "summarized"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "xhigh"},
    "metadata": {"user_id": "user_abc_account__session_def"},
    "temperature": 1,
    "top_p": 0.9,
    "top_k": 5,
    "speed": "fast",
}
ENABLED = {"type": "enabled", "budget_tokens": 8_192}
_models = count()


@pytest.fixture
def profile(llm: LlmServer) -> ModelProfile:
    return ModelProfile(name="Claude", provider="anthropic", base_url=llm.url, model_id=f"claude-{next(_models)}")


async def sent_after(llm: LlmServer, profile: ModelProfile, *refusals: str, body: Json, learns: bool = True) -> Json:
    """The request that a server accepts after these refusals; one that `learns` is asked once from then on."""
    for words in refusals:
        llm.enqueue(status=400, message=words)
    for _ in range(2):
        async with ask_messages(profile, body, {}, asking=lambda: None):
            pass
        if not learns:
            break
    assert len(llm.requests) == len(refusals) + 1 + learns
    if learns:
        assert llm.requests[-1] == llm.requests[-2]
    return {name: value for name, value in llm.requests[-1].items() if name != "model"}


OPTIONS: list[tuple[str, Json, Json]] = [
    ("context_management: Extra inputs are not permitted", {}, {"context_management": GONE}),
    ("#: extraneous key [context_management] is not permitted", {}, {"context_management": GONE}),  # Bedrock
    ('json: unknown field "context_management"', {}, {"context_management": GONE}),
    ("context_management: This feature requires the beta header context-management-2025-06-27", {},
     {"context_management": GONE}),
    ("output_config: Extra inputs are not permitted", {}, {"output_config": GONE}),
    ("effort: this model does not support effort", {}, {"output_config": GONE}),
    ("output_config.effort: effort is not supported for this model",
     {"output_config": {"effort": "low", "format": {"type": "json_schema"}}},
     {"output_config": {"format": {"type": "json_schema"}}}),
    ("output_config.effort: Input should be 'low', 'medium' or 'high'", {}, {"output_config": {"effort": "high"}}),
    ("This model does not support effort level 'xhigh'. Supported levels: high, low, medium.", {},
     {"output_config": {"effort": "high"}}),
    ("thinking: Extra inputs are not permitted", {}, {"thinking": GONE, "context_management": GONE}),
    ("#: extraneous key [thinking] is not permitted", {}, {"thinking": GONE, "context_management": GONE}),
    ("'claude-3-5-sonnet-20241022' does not support thinking.", {}, {"thinking": GONE, "context_management": GONE}),
    ("thinking.type: Input should be 'enabled' or 'disabled'", {}, {"thinking": ENABLED}),
    ("#/thinking/type: adaptive is not a valid enum value", {}, {"thinking": ENABLED}),
    ("thinking.type: Input should be 'adaptive' or 'disabled'", {"thinking": ENABLED},
     {"thinking": {"type": "adaptive"}}),
    ("thinking.adaptive.display: Extra inputs are not permitted", {}, {"thinking": {"type": "adaptive"}}),
    ("#/thinking: extraneous key [display] is not permitted", {}, {"thinking": {"type": "adaptive"}}),
    ("Thinking may not be enabled when tool_choice forces tool use.", {"tool_choice": {"type": "any"}},
     {"thinking": GONE, "context_management": GONE}),
    ("`tool_choice` is not supported while the model thinks", {"tool_choice": {"type": "tool", "name": "Bash"}},
     {"tool_choice": {"type": "auto"}}),
    ("tool_choice: Extra inputs are not permitted", {}, {"tool_choice": GONE}),
    ("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.", {}, {"top_p": GONE}),
    ("`top_k` must be unset when thinking is enabled.", {}, {"top_k": GONE}),
    ("metadata: Extra inputs are not permitted", {}, {"metadata": GONE}),
    ("metadata.user_id: String should have at most 256 characters", {}, {"metadata": GONE}),
    ("speed: Extra inputs are not permitted", {}, {"speed": GONE}),
    ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens", {}, {"max_tokens": 8_192}),
    ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens",
     {"thinking": {"type": "enabled", "budget_tokens": 31_999}},
     {"max_tokens": 8_192, "thinking": {"type": "enabled", "budget_tokens": 4_096}}),
    ("max_tokens: 32000 > 1000, which is the maximum allowed number of output tokens",
     {"thinking": {"type": "enabled", "budget_tokens": 31_999}},
     {"max_tokens": 1_000, "thinking": {"type": "disabled"}, "context_management": GONE}),
    ("system: Input should be a valid string", {}, {"system": "You help.\n\nBe brief."}),
    ("json: cannot unmarshal array into Go struct field MessagesRequest.system of type string", {},
     {"system": "You help.\n\nBe brief."}),
    ("tools.0.custom.defer_loading: Extra inputs are not permitted", {}, {"tools": [MARKED_TOOL]}),
    ('json: unknown field "eager_input_streaming"', {}, {"tools": [MARKED_TOOL]}),
    ("tools.0.type: Extra inputs are not permitted", {}, {"tools": [MARKED_TOOL]}),
]  # fmt: skip


@pytest.mark.parametrize(("refusal", "given", "changed"), OPTIONS, ids=[f"{row[0]}-{row[1]}" for row in OPTIONS])
async def test_a_refused_option_is_left_out_or_changed(
    llm: LlmServer, profile: ModelProfile, refusal: str, given: Json, changed: Json
) -> None:
    body = BODY | given
    sent = await sent_after(llm, profile, refusal, body=body)
    assert sent == {name: value for name, value in (body | changed).items() if value != GONE}


@pytest.mark.parametrize(
    "refusals",
    [
        ["adaptive thinking is not supported on this model", "thinking.type: Input should be 'disabled'"],
        ["thinking.adaptive.display: Extra inputs are not permitted", "thinking: Extra inputs are not permitted"],
    ],
)
async def test_a_model_that_takes_no_type_of_thinking_is_asked_without(
    llm: LlmServer, profile: ModelProfile, refusals: list[str]
) -> None:
    assert "thinking" not in await sent_after(llm, profile, *refusals, body=BODY)


async def test_edits_of_tool_results_stay_where_thinking_goes(llm: LlmServer, profile: ModelProfile) -> None:
    """Anthropic refuses edits of thoughts without thinking, and no others."""
    tools = {"type": "clear_tool_uses_20250919"}
    body = BODY | {"context_management": {"edits": [{"type": "clear_thinking_20251015"}, tools]}}
    llm.enqueue(status=400, message="messages.1.content.0: Invalid `signature` in `thinking` block")
    async with ask_messages(profile, body, {}, asking=lambda: None):
        pass
    sent = llm.last_request.body
    assert ("thinking" in sent, sent["context_management"]) == (False, {"edits": [tools]})


async def test_one_callers_mistake_takes_thinking_from_nobody(llm: LlmServer, profile: ModelProfile) -> None:
    words = "context_management.edits.0: `clear_thinking_20251015` strategy requires `thinking` to be enabled"
    llm.enqueue(status=400, message=words)
    with pytest.raises(Refused):
        async with ask_messages(profile, BODY | {"thinking": {"type": "disabled"}}, {}, asking=lambda: None):
            pass
    async with ask_messages(profile, BODY, {}, asking=lambda: None):
        pass
    assert llm.last_request.body["thinking"] == BODY["thinking"]


async def test_a_server_that_refuses_every_form_is_not_asked_forever(llm: LlmServer, profile: ModelProfile) -> None:
    llm.enqueue(times=50, status=400, message="thinking.type: Input should be another one")
    with pytest.raises(Refused):
        async with ask_messages(profile, BODY, {}, asking=lambda: None):
            pass
    assert len(llm.requests) <= 3


def marks(body: Json) -> list[Json]:
    """The marks for the cache of instructions, tools and results."""
    blocks = [*body["system"], *body["tools"], *(one for message in body["messages"] for one in message["content"])]
    return [block["cache_control"] for block in blocks if "cache_control" in block]


@pytest.mark.parametrize(
    "refusal",
    [
        "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
        "Malformed request: #/system/1/cache_control: extraneous key [scope] is not permitted",
        "ttl '1h' is not supported for this model",
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    ],
)
async def test_marks_for_the_cache_stay_without_their_newer_fields(
    llm: LlmServer, profile: ModelProfile, refusal: str
) -> None:
    assert marks(await sent_after(llm, profile, refusal, body=BODY)) == [MARK, MARK, MARK]


@pytest.mark.parametrize(
    "refusal",
    [
        "You invoked an unsupported model or your request did not allow prompt caching.",  # Bedrock
        "This model does not support prompt caching.",
        "system.0.cache_control: Extra inputs are not permitted",
    ],
)
async def test_marks_go_where_a_server_keeps_nothing(llm: LlmServer, profile: ModelProfile, refusal: str) -> None:
    assert not marks(await sent_after(llm, profile, refusal, refusal, body=BODY))


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.1.content.1.text.citations: Extra inputs are not permitted",
        "messages.1.content.1.text.citations: Input should be a valid list",
        "#/messages/1/content/1/citations: expected type: JSONArray, found: Null",
    ],
)
async def test_fields_of_answers_do_not_go_back(llm: LlmServer, profile: ModelProfile, refusal: str) -> None:
    sent = await sent_after(llm, profile, refusal, body=BODY)
    assert sent["messages"][1]["content"] == [
        THOUGHT, {"type": "text", "text": "Looking."}, {name: USE[name] for name in USE if name != "caller"}
    ]  # fmt: skip
    assert sent["messages"][2:] == BODY["messages"][2:]


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.4.content.0: Input tag 'document' found using 'type' does not match any of the expected tags: 'text'",
        "'claude-3-haiku-20240307' does not support PDF input.",
        "unsupported content block type: document",
        "#/messages/4/content/0/type: document is not a valid enum value",
    ],
)
async def test_a_document_goes_as_text_to_a_server_that_reads_none(
    llm: LlmServer, profile: ModelProfile, refusal: str
) -> None:
    """Its message stands in the history from then on: without this the session would be over."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [PDF]}
    messages = [*BODY["messages"][:2], {"role": "user", "content": [result]}, *BODY["messages"][3:]]
    sent = await sent_after(llm, profile, refusal, body=BODY | {"messages": messages})
    read = [sent["messages"][2]["content"][0]["content"][0], sent["messages"][4]["content"][0]]
    assert all(one["type"] == "text" and "PDF" in one["text"].upper() for one in read), read
    assert sent["messages"][4]["content"][1] == {"type": "text", "text": "And now?"}


@pytest.mark.parametrize(
    "refusal",
    [
        "messages.1.content.0: Input tag 'thinking' found using 'type' does not match any of the expected tags: 'text'",
        "messages.1.content[0]: unknown variant `thinking`, expected one of `text`, `image`, `tool_use`, `tool_result`",
        "#/messages/1/content/0/type: thinking is not a valid enum value",
        "unknown content block type: thinking",
    ],
)
async def test_thoughts_do_not_go_back_to_a_server_that_knows_no_such_blocks(
    llm: LlmServer, profile: ModelProfile, refusal: str
) -> None:
    sent = await sent_after(llm, profile, refusal, body=BODY)
    assert sent["messages"][1]["content"] == BODY["messages"][1]["content"][1:]
    assert sent["thinking"] == BODY["thinking"]


async def test_images_in_results_stand_behind_them_where_a_server_wants_text(
    llm: LlmServer, profile: ModelProfile
) -> None:
    refusal = "messages.2.content.0.tool_result.content.1: Input tag 'image' found using 'type' does not match any of"
    sent = await sent_after(llm, profile, refusal, body=BODY)
    named = {"type": "text", "text": "Image in the result of toolu_1:"}
    assert sent["messages"][2]["content"] == [RESULT | {"content": [LISTED]}, named, PIXEL]


async def test_results_are_texts_where_a_server_wants_texts(llm: LlmServer, profile: ModelProfile) -> None:
    refusal = "messages.2.content.0.tool_result.content: Input should be a valid string"
    sent = await sent_after(llm, profile, refusal, body=BODY)
    assert sent["messages"][2]["content"][0]["content"].startswith("a.txt\n\n[image/png")


async def test_an_image_that_cannot_be_read_does_not_end_a_session(llm: LlmServer, profile: ModelProfile) -> None:
    sent = await sent_after(llm, profile, "Could not process image", body=BODY, learns=False)
    assert [one["type"] for one in sent["messages"][2]["content"][0]["content"]] == ["text", "text"]


@pytest.mark.parametrize(
    "refusal",
    [
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.',
        "messages.0.role: Input should be 'user' or 'assistant'",
    ],
)
async def test_system_messages_become_instructions_and_messages_of_the_user(
    llm: LlmServer, profile: ModelProfile, refusal: str
) -> None:
    first, later = ({"role": "system", "content": words} for words in ("Be kind.", "Be quick."))
    sent = await sent_after(llm, profile, refusal, body=BODY | {"messages": [first, *BODY["messages"], later]})
    assert [one["text"] for one in sent["system"]] == ["You help.", "Be brief.", "Be kind."]
    last = BODY["messages"][-1]["content"]
    quick = {"type": "text", "text": "Be quick."}
    assert sent["messages"] == [*BODY["messages"][:-1], {"role": "user", "content": [*last, quick]}]
