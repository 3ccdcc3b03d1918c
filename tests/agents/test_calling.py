"""How models are told of tools, over real HTTP by both APIs: what is sent, by which names, and to whom it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conversations.context import tools as context_tools
from conversations.llm import errors
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import Provider
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.request import Prompt
from conversations.llm.tools import spec, tokens
from tests.agents.asking import APIS, LAST, PROMPT, QUESTION, SUM, calls_of, heard, model_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


class TestWhatIsSent:
    async def test_a_prompt_without_tools_says_nothing_of_them(self, llm: LlmServer) -> None:
        await heard(model_of(OpenAICompatible, llm), Prompt((QUESTION,), may_call=False))
        await heard(model_of(Anthropic, llm), Prompt((QUESTION,)))
        openai, anthropic = llm.requests
        assert openai == {
            "model": "writer-1", "stream": True, "messages": [QUESTION],
            "stream_options": {"include_usage": True}, "max_tokens": 200,
        }  # fmt: skip
        assert not {"tools", "tool_choice"} & anthropic.keys()

    async def test_tools_are_defined_in_the_words_of_each_api(self, llm: LlmServer) -> None:
        await heard(model_of(OpenAICompatible, llm))
        await heard(model_of(Anthropic, llm))
        openai, anthropic = llm.requests
        assert openai["tools"] == [context_tools.CALCULATE.function, context_tools.CURRENT_TIME.function]
        first = context_tools.CALCULATE
        assert anthropic["tools"][0] == {
            "name": "calculate", "description": first.description, "input_schema": json.loads(first.parameters),
        }  # fmt: skip
        assert not any("tool_choice" in body for body in (openai, anthropic))

    async def test_a_model_that_may_not_call_is_told_so_and_of_the_same_tools(self, llm: LlmServer) -> None:
        for api in (OpenAICompatible, Anthropic):
            await heard(model_of(api, llm))
            await heard(model_of(api, llm), LAST)
        first, last, asked, end = llm.requests
        assert last == first | {"tool_choice": "none"}
        assert end == asked | {"tool_choice": {"type": "none"}}

    async def test_anthropic_is_told_the_names_of_called_tools_that_are_not_offered_any_more(
        self, llm: LlmServer
    ) -> None:
        await heard(model_of(Anthropic, llm), Prompt(tuple(called("read.file", '{"a": 1}'))))
        body = llm.last_request.body
        assert body["tools"] == [{"name": fitting_name("read.file"), "input_schema": {"type": "object"}}]
        assert body["tool_choice"] == {"type": "none"}

    @APIS
    async def test_the_prompt_cache_begins_with_the_same_tools(self, llm: LlmServer, api: type[Provider]) -> None:
        system = {"role": "system", "content": "Be brief."}
        for _ in range(2):
            await heard(model_of(api, llm), replace(PROMPT, messages=(system, QUESTION)))
        assert llm.requests[0] == llm.requests[1]
        if api is Anthropic:
            assert llm.requests[0]["system"][0]["cache_control"] == {"type": "ephemeral"}

    async def test_calls_in_the_history_go_as_they_are_where_a_server_takes_them(self, llm: LlmServer) -> None:
        prompt = Prompt(tuple(called("calculate", SUM[1])), tools=PROMPT.tools)
        await heard(model_of(OpenAICompatible, llm), prompt)
        assert llm.last_request.body["messages"] == list(prompt.messages)

    @pytest.mark.parametrize("written", ["", "{", "[1]", '{"a": '])
    async def test_arguments_that_are_no_object_do_not_end_a_conversation(self, llm: LlmServer, written: str) -> None:
        await heard(model_of(OpenAICompatible, llm), Prompt(tuple(called("look", written))))
        sent = llm.last_request.body["messages"][1]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(sent) == ({"arguments": written} if written else {})


def called(name: str, arguments: str) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        QUESTION,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "51"},
    ]


class TestNames:
    LONG = "files__" + "read_" * 20

    @APIS
    async def test_a_name_that_is_not_taken_finds_its_way_back(self, llm: LlmServer, api: type[Provider]) -> None:
        names = ["files__read.file", "files__read/file", self.LONG + "a", self.LONG + "b", "größe"]
        tools = tuple(spec(name, "Reads.") for name in names)
        llm.enqueue("", calls=[(fitting_name(name), "{}") for name in names])
        assert calls_of(await heard(model_of(api, llm), Prompt((QUESTION,), tools=tools))) == [
            (name, "{}") for name in names
        ]
        told = llm.last_request.tools
        assert len(set(told)) == 5 and all(len(name) <= 64 and name.isascii() for name in told)
        assert not any(mark in name for name in told for mark in "./")

    @APIS
    async def test_the_same_tool_has_the_same_name_in_the_history(self, llm: LlmServer, api: type[Provider]) -> None:
        tool = spec("files__read.file", "Reads.")
        await heard(model_of(api, llm), Prompt(tuple(called(tool.name, "{}")), tools=(tool,)))
        (call,) = [call for message in llm.last_request.messages for call in message.get("tool_calls") or ()]
        assert [call["function"]["name"]] == llm.last_request.tools

    @pytest.mark.parametrize("name", ["calculate", "time__get_current-time", "a" * 64])
    def test_a_name_that_fits_stays_as_it_is(self, name: str) -> None:
        assert fitting_name(name) == name

    async def test_a_tool_that_the_model_made_up_is_handed_on(self, llm: LlmServer) -> None:
        llm.enqueue("", calls=[("sudo.rm", "{}")])
        assert calls_of(await heard(model_of(OpenAICompatible, llm))) == [("sudo.rm", "{}")]


NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (404, "No endpoints found that support tool use."),
    (500, "tools param requires --jinja flag"),
    (422, "body.tools: Extra inputs are not permitted"),
    (400, "This model does not support Function Calling"),
]


@pytest.mark.parametrize(("status", "message"), NO_TOOLS, ids=[message[:30] for _, message in NO_TOOLS])
async def test_a_server_that_takes_no_tools_is_asked_without_and_never_with_them_again(
    llm: LlmServer, status: int, message: str
) -> None:
    llm.enqueue(status=status, message=message)
    model = model_of(OpenAICompatible, llm)
    assert model.passes_tools(PROMPT)
    await heard(model)
    assert [len(request.tools) for request in llm.received] == [2, 0]
    assert not model.passes_tools(PROMPT)
    await heard(model_of(OpenAICompatible, llm), LAST)
    assert len(llm.requests) == 3 and not {"tools", "tool_choice"} & llm.requests[2].keys()


async def test_a_server_that_takes_no_tool_choice_is_told_of_tools_until_they_must_not_be_called(
    llm: LlmServer,
) -> None:
    llm.enqueue(status=400, message="Unsupported parameter: tool_choice")
    model = model_of(OpenAICompatible, llm)
    await heard(model, LAST)
    await heard(model)
    assert [request.tools for request in llm.received] == [
        ["calculate", "current_time"],
        [],
        ["calculate", "current_time"],
    ]
    assert model.passes_tools(PROMPT) and not model.passes_tools(LAST)


@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for function 'files__read': parameters must be of type object",
        "tools.3.custom.input_schema: JSON schema is invalid",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
        "Failed to call a function. See 'failed_generation'. tool_use_failed",
        "max_price: not known",
    ],
)
async def test_a_complaint_about_something_else_takes_no_tools_away(llm: LlmServer, message: str) -> None:
    llm.enqueue(status=400, message=message, times=2)
    model = model_of(OpenAICompatible, llm)
    with pytest.raises(errors.RequestRefused):
        await heard(model)
    assert all("tools" in body for body in llm.requests) and model.passes_tools(PROMPT)
    assert len(llm.requests) == (2 if "schema" in message else 1), "a schema is refused in its plain form too"


async def test_tools_and_other_options_are_left_out_in_turn(llm: LlmServer) -> None:
    llm.enqueue(status=400, message="stream_options: unknown field")
    llm.enqueue(status=400, message="does not support tools")
    await heard(model_of(OpenAICompatible, llm))
    assert [sorted({"tools", "stream_options"} & body.keys()) for body in llm.requests] == [
        ["stream_options", "tools"], ["tools"], [],
    ]  # fmt: skip


async def test_a_server_counts_the_definitions_that_a_request_carries_as_we_do(llm: LlmServer) -> None:
    tools = (*PROMPT.tools, spec("size", "Wie groß etwas ist, in Metern: 高さ.", was={"type": "string"}))
    with_tools = (await heard(model_of(OpenAICompatible, llm), replace(PROMPT, tools=tools)))[-1].spent
    without = (await heard(model_of(OpenAICompatible, llm), Prompt((QUESTION,))))[-1].spent
    assert with_tools and without
    assert with_tools.prompt - without.prompt == tokens(tools)
