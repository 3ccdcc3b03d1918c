"""Models are told of tools, and call them, by both APIs over real HTTP: whatever servers make of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from conversations.agents.tools import calculator, clock
from conversations.agents.tools.spec import Asked, spec, tokens
from conversations.llm import base, refusals
from conversations.llm.anthropic import Anthropic
from conversations.llm.base import Delta
from conversations.llm.calls import MOST_CALLS
from conversations.llm.names import fitting
from conversations.llm.openai import OpenAICompatible
from conversations.llm.provider import LONGEST_REPLY, Provider
from conversations.prompt import Prompt
from tests.faults.providers import KEY, Naps, assert_readable
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

SUM = ("calculate", '{"expression": "17 * 3"}')
QUESTION = {"role": "user", "content": "What is 17 * 3?"}
PROMPT = Prompt((QUESTION,), tools=(calculator.SPEC, clock.SPEC))
LAST = replace(PROMPT, may_call=False)
APIS = pytest.mark.parametrize("api", [OpenAICompatible, Anthropic])


@pytest.fixture(autouse=True)
def nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_learned", {})


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


def chunk(*calls: dict[str, Any], finish: str | None = None, **delta: Any) -> dict[str, Any]:
    said = delta | ({"tool_calls": list(calls)} if calls else {})
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    given = {"name": name, "arguments": arguments}
    return more | {"function": {key: value for key, value in given.items() if value is not None}}


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
        assert openai["tools"] == [calculator.SPEC.function, clock.SPEC.function]
        first = calculator.SPEC
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
        assert body["tools"] == [{"name": fitting("read.file"), "input_schema": {"type": "object"}}]
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
        llm.enqueue("", calls=[(fitting(name), "{}") for name in names])
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
        assert fitting(name) == name

    async def test_a_tool_that_the_model_made_up_is_handed_on(self, llm: LlmServer) -> None:
        llm.enqueue("", calls=[("sudo.rm", "{}")])
        assert calls_of(await heard(model_of(OpenAICompatible, llm))) == [("sudo.rm", "{}")]


class TestWhatIsRead:
    @APIS
    async def test_calls_come_with_the_end_of_the_reply(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("Let me see.", calls=[SUM, ("current_time", "{}")])
        deltas = await heard(model_of(api, llm))
        assert "".join(delta.text for delta in deltas) == "Let me see."
        assert calls_of(deltas) == [SUM, ("current_time", "{}")]
        last = deltas[-1]
        assert last.finish_reason == "tool_calls" and last.spent and last.spent.completion > 10
        assert len({call.id for call in last.calls}) == 2

    @APIS
    async def test_a_reply_of_calls_alone_is_one(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", calls=[SUM])
        deltas = await heard(model_of(api, llm))
        assert calls_of(deltas) == [SUM] and not any(delta.text for delta in deltas)

    @APIS
    async def test_neither_text_nor_calls_is_no_reply(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", times=3)
        with pytest.raises(base.BrokenReply, match="empty reply"):
            await heard(model_of(api, llm))
        assert len(llm.requests) == 3

    @APIS
    async def test_calls_that_were_not_to_be_made_are_dropped(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("It is 51.", times=2, calls=[SUM])
        for prompt in (LAST, Prompt((QUESTION,))):
            deltas = await heard(model_of(api, llm), prompt)
            assert "".join(delta.text for delta in deltas) == "It is 51."
            assert deltas[-1].calls == () and deltas[-1].finish_reason == "stop"

    @APIS
    async def test_who_calls_anyway_is_asked_again_without_tools(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", calls=[SUM])
        llm.enqueue("It is 51.")
        deltas = await heard(model_of(api, llm), LAST)
        assert "".join(delta.text for delta in deltas) == "It is 51."
        assert [len(request.tools) for request in llm.received] == [2, 0]
        await heard(model_of(api, llm))
        assert len(llm.last_request.tools) == 2

    @APIS
    async def test_who_goes_on_calling_is_told_of(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", times=3, calls=[SUM])
        with pytest.raises(base.BrokenReply, match="was to answer by itself") as caught:
            await heard(model_of(api, llm), LAST)
        assert_readable(caught.value)

    @APIS
    @pytest.mark.parametrize("fault", ["half", "unended", "error_midway"])
    async def test_a_stream_that_breaks_within_arguments_is_asked_again(
        self, llm: LlmServer, api: type[Provider], fault: str
    ) -> None:
        how = {"calls": [("calculate", json.dumps({"expression": "1+" * 300 + "1"}))], "fault": fault}
        llm.enqueue("", code="server_error", **how)
        llm.enqueue("", calls=[SUM])
        assert calls_of(await heard(model_of(api, llm))) == [SUM]
        llm.enqueue("", times=3, code="server_error", **how)
        with pytest.raises(base.BrokenReply) as caught:
            await heard(model_of(api, llm))
        assert_readable(caught.value)

    @APIS
    async def test_arguments_without_an_end_are_not_collected(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", calls=[("calculate", "x" * (LONGEST_REPLY + 1))])
        with pytest.raises(base.BrokenReply, match="does not end"):
            await heard(model_of(api, llm))
        assert len(llm.requests) == 1

    @APIS
    async def test_at_most_sixteen_calls_are_kept(self, llm: LlmServer, api: type[Provider]) -> None:
        many = [("calculate", json.dumps({"expression": str(number)})) for number in range(MOST_CALLS + 4)]
        llm.enqueue("", calls=many)
        assert calls_of(await heard(model_of(api, llm))) == many[:MOST_CALLS]

    @APIS
    async def test_calls_are_text_that_can_be_stored(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", calls=[("calcu\0late\ud800", '{"expression": "\0\udfff"}'), ("n" * 300, "{}")])
        calls = (await heard(model_of(api, llm)))[-1].calls
        assert [len(call.name) <= 200 and "\0" not in call.name + call.arguments for call in calls] == [True] * 2
        "".join(call.name + call.arguments for call in calls).encode()
        assert calls[0].arguments == '{"expression": "\ufffd"}'

    @APIS
    async def test_a_refusal_calls_nothing(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("I will not.", calls=[SUM], finish_reason="content_filter")
        last = (await heard(model_of(api, llm)))[-1]
        assert last.refused and last.calls == ()

    async def test_arguments_that_were_cut_off_are_told_as_they_came(self, llm: LlmServer) -> None:
        llm.enqueue("", calls=[("calculate", '{"expr')], finish_reason="length")
        last = (await heard(model_of(OpenAICompatible, llm)))[-1]
        assert (last.finish_reason, last.calls[0].arguments) == ("length", '{"expr')


TIME = ("current_time", '{"timezone": "UTC"}')
WHOLE = [SUM, TIME]
ENDS = chunk(finish="tool_calls")
ODD = {
    "the name in pieces": (
        [chunk(piece("calc", index=0, id="a")), chunk(piece("ulate", SUM[1], index=0)), ENDS],
        [SUM],
    ),
    "the name with each piece": (
        [chunk(piece("calculate", part, index=0, id="a")) for part in (SUM[1][:5], SUM[1][5:])] + [ENDS],
        [SUM],
    ),
    "the name after the arguments": (
        [chunk(piece(None, SUM[1], index=0, id="a")), chunk(piece("calculate", index=0, id="a")), ENDS],
        [SUM],
    ),
    "another id with each piece": (
        [chunk(piece("calculate", "", index=0, id="a"))]
        + [chunk(piece(None, part, index=0, id=part)) for part in (SUM[1][:5], SUM[1][5:])]
        + [ENDS],
        [SUM],
    ),
    "pieces of two calls in turn": (
        [chunk(piece(name, "", index=n, id=name)) for n, (name, _) in enumerate(WHOLE)]
        + [chunk(piece(None, said[:7], index=n)) for n, (_, said) in enumerate(WHOLE)]
        + [chunk(piece(None, said[7:], index=n)) for n, (_, said) in enumerate(WHOLE)]
        + [ENDS],
        WHOLE,
    ),
    "the same, all numbered 0": (
        [chunk(piece(name, "", index=0, id=name)) for name, _ in WHOLE]
        + [chunk(piece(None, said[:7], index=0, id=name)) for name, said in WHOLE]
        + [chunk(piece(None, said[7:], index=0, id=name)) for name, said in WHOLE]
        + [ENDS],
        WHOLE,
    ),
    "whole calls in a chunk": (
        [chunk(*(piece(*call, index=n, id=str(n)) for n, call in enumerate(WHOLE)), finish="tool_calls")],
        WHOLE,
    ),
    "whole calls in a chunk without numbers and ids": ([chunk(*(piece(*call) for call in WHOLE)), ENDS], WHOLE),
    "a call a chunk without numbers and ids": ([*(chunk(piece(*call)) for call in WHOLE), ENDS], WHOLE),
    "a call a chunk, all numbered 0": ([*(chunk(piece(*call, index=0)) for call in WHOLE), ENDS], WHOLE),
    "one id for all": ([*(chunk(piece(*call, index=0, id="x")) for call in [SUM, SUM[:1] + TIME[1:]]), ENDS],
                       [SUM, SUM[:1] + TIME[1:]]),
    "one id at two places": ([chunk(*(piece(*call, index=n, id="x") for n, call in enumerate(WHOLE))), ENDS], WHOLE),
    "numbers that end after the first piece": (
        [chunk(piece("calculate", "", index=7, id="a")), chunk(piece(None, SUM[1])), ENDS],
        [SUM],
    ),
    "arguments as an object": ([chunk(piece(SUM[0], json.loads(SUM[1]), index=0, id="a")), ENDS], [SUM]),
    "the same once more": ([chunk(piece(*SUM, index=0, id="a"))] * 2 + [ENDS], [SUM]),
    "stop although there are calls": ([chunk(piece(*SUM, index=0, id="a")), chunk(finish="stop")], [SUM]),
    "no arguments": ([chunk(piece("current_time", None, index=0, id="a")), ENDS], [("current_time", "{}")]),
    "a call of nothing beside": ([chunk(piece("", "{}", index=1), piece(*SUM, index=0)), ENDS], [SUM]),
    "nulls and what nobody knows": (
        [
            {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None, "reasoning": "hm"}}], "x": 1},
            chunk(piece(*SUM, index=0, id=None, type=None, extra={"a": []}), role="assistant", content=None),
            {"choices": [{"index": 0, "delta": None, "finish_reason": "tool_calls"}]},
        ],
        [SUM],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "calls"), ODD.values(), ids=ODD)
async def test_calls_are_understood_however_a_server_sends_them(
    llm: LlmServer, events: list[dict[str, Any]], calls: list[tuple[str, str]]
) -> None:
    llm.enqueue(events=events)
    deltas = await heard(model_of(OpenAICompatible, llm))
    assert calls_of(deltas) == calls
    ids = [call.id for call in deltas[-1].calls]
    assert all(ids) and len(set(ids)) == len(ids) and max(map(len, ids)) <= 200
    assert deltas[-1].finish_reason == "tool_calls"


async def test_an_id_that_is_too_long_is_cut(llm: LlmServer) -> None:
    llm.enqueue(events=[chunk(*(piece(*SUM, index=n, id="i" * 300 + str(n)) for n in range(2))), ENDS])
    ids = [call.id for call in (await heard(model_of(OpenAICompatible, llm)))[-1].calls]
    assert ids[0] == "i" * 200 and 0 < len(ids[1]) <= 200 and ids[1] != ids[0]


async def test_anthropics_arguments_may_come_with_the_block(llm: LlmServer) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {"expression": "17 * 3"}, "caller": {}}
    llm.enqueue(events=[
        {"type": "message_start", "message": {"usage": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "nobody_knows", "delta": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ])  # fmt: skip
    deltas = await heard(model_of(Anthropic, llm))
    assert deltas == [Delta(finish_reason="tool_calls", calls=(Asked("toolu_1", *SUM),))]


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
    assert model.tells_of_tools(PROMPT)
    await heard(model)
    assert [len(request.tools) for request in llm.received] == [2, 0]
    assert not model.tells_of_tools(PROMPT)
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
    assert model.tells_of_tools(PROMPT) and not model.tells_of_tools(LAST)


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
    llm.enqueue(status=400, message=message)
    model = model_of(OpenAICompatible, llm)
    with pytest.raises(base.RequestRefused):
        await heard(model)
    assert len(llm.requests) == 1 and model.tells_of_tools(PROMPT)


async def test_tools_and_other_options_are_left_out_in_turn(llm: LlmServer) -> None:
    llm.enqueue(status=400, message="stream_options: unknown field")
    llm.enqueue(status=400, message="does not support tools")
    await heard(model_of(OpenAICompatible, llm))
    assert [sorted({"tools", "stream_options"} & body.keys()) for body in llm.requests] == [
        ["stream_options", "tools"], ["tools"], [],
    ]  # fmt: skip


async def test_what_is_reported_is_what_the_request_carries(llm: LlmServer) -> None:
    with_tools = (await heard(model_of(OpenAICompatible, llm)))[-1].spent
    without = (await heard(model_of(OpenAICompatible, llm), Prompt((QUESTION,))))[-1].spent
    assert with_tools and without and with_tools.prompt - without.prompt == tokens(PROMPT.tools)
