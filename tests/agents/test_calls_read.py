"""The calls of a reply, over real HTTP by both APIs: however a server sends them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conversations.llm import errors
from conversations.llm.port import Delta
from conversations.llm.providers.anthropic import Anthropic
from conversations.llm.providers.openai import OpenAICompatible
from conversations.llm.providers.provider import MAX_REPLY_CHARS, Provider
from conversations.llm.providers.tool_call_chunks import MAX_CALLS
from conversations.llm.providers.tool_naming import offered_name
from conversations.llm.request import Prompt
from conversations.llm.tools import ToolRequest
from tests.agents.asking import APIS, LAST, QUESTION, SUM, calls_of, heard, model_of
from tests.faults.providers import assert_readable
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


def chunk(*calls: dict[str, Any], finish: str | None = None, **delta: Any) -> dict[str, Any]:
    said = delta | ({"tool_calls": list(calls)} if calls else {})
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    given = {"name": name, "arguments": arguments}
    return more | {"function": {key: value for key, value in given.items() if value is not None}}


SCHEMA_REFUSED = "Invalid schema for function 'calculate': In context=('properties', 'x'), array schema missing items."


class TestWhatIsRead:
    @APIS
    async def test_a_server_that_refuses_a_schema_gets_plain_ones_from_then_on(
        self, llm: LlmServer, api: type[Provider]
    ) -> None:
        llm.enqueue(status=400, message=SCHEMA_REFUSED)
        for _ in range(2):
            await heard(model_of(api, llm))
        sent = ["additionalProperties" in json.dumps(body["tools"]) for body in llm.requests]
        assert sent == [True, False, False]

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
    @pytest.mark.parametrize("name", ["Calculate", "functions.calculate", "calculate<|channel|>commentary"])
    async def test_a_name_means_the_offered_tool(self, llm: LlmServer, api: type[Provider], name: str) -> None:
        llm.enqueue("", calls=[(name, SUM[1])])
        assert calls_of(await heard(model_of(api, llm))) == [SUM]

    def test_a_name_that_could_mean_several_tools_stays(self) -> None:
        assert offered_name("READ", ["read", "Read"]) == "READ"
        assert offered_name("write", ["read"]) == "write"

    async def test_a_call_that_a_model_writes_as_text_is_one(self, llm: LlmServer) -> None:
        llm.enqueue('Let me see.\n<tool_call>{"name": "calculate", "arguments": {"expression": "17 * 3"}}</tool_call>')
        deltas = await heard(model_of(OpenAICompatible, llm))
        assert "".join(delta.text for delta in deltas) == "Let me see.\n"
        assert calls_of(deltas) == [SUM] and deltas[-1].finish_reason == "tool_calls"

    @APIS
    async def test_neither_text_nor_calls_is_no_reply(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", times=3)
        with pytest.raises(errors.BrokenReply, match="empty reply"):
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
        with pytest.raises(errors.BrokenReply, match="was to answer by itself") as caught:
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
        with pytest.raises(errors.BrokenReply) as caught:
            await heard(model_of(api, llm))
        assert_readable(caught.value)

    @APIS
    async def test_a_reply_that_the_server_ends_without_a_reason_is_whole(
        self, llm: LlmServer, api: type[Provider]
    ) -> None:
        llm.enqueue("It is 51.", fault="no_reason")
        llm.enqueue("", calls=[SUM], fault="no_reason")
        text, calls = await heard(model_of(api, llm)), await heard(model_of(api, llm))
        assert "".join(delta.text for delta in text) == "It is 51." and text[-1].finish_reason == "stop"
        assert calls_of(calls) == [SUM] and calls[-1].finish_reason == "tool_calls"
        assert len(llm.requests) == 2

    @APIS
    @pytest.mark.parametrize("answer", [{"calls": [("calculate", '{"expression": "17 *')]}, {"text": ""}])
    async def test_a_part_of_a_call_and_nothing_at_all_are_no_reply_though_the_server_ends_them(
        self, llm: LlmServer, api: type[Provider], answer: dict[str, Any]
    ) -> None:
        llm.enqueue(**{"text": "", "fault": "no_reason"} | answer)
        llm.enqueue("", calls=[SUM])
        assert calls_of(await heard(model_of(api, llm))) == [SUM]

    @APIS
    async def test_arguments_without_an_end_are_not_collected(self, llm: LlmServer, api: type[Provider]) -> None:
        llm.enqueue("", calls=[("calculate", "x" * (MAX_REPLY_CHARS + 1))])
        with pytest.raises(errors.BrokenReply, match="does not end"):
            await heard(model_of(api, llm))
        assert len(llm.requests) == 1

    @APIS
    async def test_at_most_sixteen_calls_are_kept(self, llm: LlmServer, api: type[Provider]) -> None:
        many = [("calculate", json.dumps({"expression": str(number)})) for number in range(MAX_CALLS + 4)]
        llm.enqueue("", calls=many)
        assert calls_of(await heard(model_of(api, llm))) == many[:MAX_CALLS]

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
    "the name after the arguments, with an id of its own": (
        [chunk(piece(None, SUM[1], index=0, id="a")), chunk(piece("calculate", index=0, id="b")), ENDS],
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
    "the same without numbers and ids": (
        [
            chunk(*(piece(name, "") for name, _ in WHOLE)),
            chunk(*(piece(None, said[:7]) for _, said in WHOLE)),
            chunk(*(piece(None, said[7:]) for _, said in WHOLE)),
            ENDS,
        ],
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
    assert deltas == [Delta(finish_reason="tool_calls", calls=(ToolRequest("toolu_1", *SUM),))]
