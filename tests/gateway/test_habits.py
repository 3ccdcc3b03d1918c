"""Habits of providers that end no loop of tools: calls numbered alike, without arguments, in pieces; thoughts that must
come back to the model that wrote them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from conversations.gateway import held_thoughts, sealed_thoughts
from conversations.gateway.anthropic.blocks import messages_of as of_blocks
from conversations.gateway.anthropic.upstream import _with_own_thoughts, _without_thoughts
from conversations.gateway.chat_completions.reply import meant_answer, with_meant_calls
from conversations.gateway.chunks import PartialCompletion
from conversations.gateway.openai_responses.items import messages_of as of_items
from conversations.gateway.upstream import MAX_FORMS
from tests.gateway.caller import Caller

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}
MODEL = "http://a.example/v1 deep"


def chunks(*deltas: dict[str, Any], finish: str = "tool_calls") -> list[dict[str, Any]]:
    said = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*said, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]


def call(name: str | None, arguments: Any, *, index: int | None = None, id: str | None = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    made = {"id": id, "index": index, "type": "function", "function": function}
    return {"tool_calls": [{key: value for key, value in made.items() if value is not None}]}


A, B = '{"path": "a.txt"}', '{"path": "b.txt"}'
STREAMS: dict[str, list[dict[str, Any]]] = {
    "all numbered 0": chunks(call("read", A, index=0, id="c1"), call("read", B, index=0, id="c2")),
    "all numbered 0, with one id": chunks(call("read", A, index=0, id="c1"), call("read", B, index=0, id="c1")),
    "not numbered": chunks(call("read", A, id="c1"), call("read", B, id="c2")),
    "in one chunk without numbers": chunks(
        {"tool_calls": [*call("read", A, id="c1")["tool_calls"], *call("read", B, id="c2")["tool_calls"]]}
    ),
    "arguments as objects": chunks(
        call("read", {"path": "a.txt"}, index=0, id="c1"), call("read", {"path": "b.txt"}, index=1, id="c2")
    ),
    "names and arguments in pieces": chunks(
        call("re", None, index=0, id="c1"), call("ad", A[:5], index=0), call(None, A[5:], index=0),
        call("read", B[:9], index=1, id="c2"), call(None, B[9:], index=1),
    ),
    "all so far in each piece": chunks(
        call("read", A[:5], index=0, id="c1"), call(None, A[:9], index=0), call(None, A, index=0),
        call("read", B[:5], index=1, id="c2"), call(None, B, index=1), call(None, B, index=1),
    ),
    "in turn": chunks(
        call("read", A[:5], index=0, id="c1"), call("read", B[:5], index=1, id="c2"),
        call(None, A[5:], index=0), call(None, B[5:], index=1),
    ),
}  # fmt: skip


def calls_of(caller: Caller, path: str, *, is_stream: bool) -> list[tuple[str, str]]:
    """The id and the arguments of each call in an answer, by either protocol."""
    tool: dict[str, Any] = {"name": "read", "input_schema": TOOL}
    body: dict[str, Any] = {"max_tokens": 500, "messages": [{"role": "user", "content": "Read both."}], "tools": [tool]}
    if path == "/responses":
        body = {"input": "Read both.", "tools": [{"type": "function", "name": "read", "parameters": TOOL}]}
    answer = caller.post(json.dumps(body | {"model": "scripted", "stream": is_stream}), path=path)
    assert answer.status_code == 200, answer.text
    if not is_stream:
        output = answer.json().get("output", answer.json().get("content"))
    else:
        events = [json.loads(line[5:]) for line in answer.text.split("\n") if line.startswith("data:")]
        output = [one["item"] for one in events if one["type"] == "response.output_item.done"]
        for one in events:
            if one["type"] == "content_block_start":
                output.append(dict(one["content_block"], input=""))
            elif one["type"] == "content_block_delta":
                output[-1]["input"] += one["delta"].get("partial_json", "")
    found = []
    for item in output:
        if item["type"] in ("function_call", "tool_use"):
            given = item.get("arguments", item.get("input"))
            found.append((item.get("call_id", item["id"]), given if isinstance(given, str) else json.dumps(given)))
    return found


@pytest.mark.parametrize("habit", STREAMS)
@pytest.mark.parametrize("path", ["/messages", "/responses"])
def test_parallel_calls_stay_apart_however_they_are_numbered(caller: Caller, path: str, habit: str) -> None:
    caller.served.llm.enqueue(events=STREAMS[habit])
    found = calls_of(caller, path, is_stream=True)
    assert [json.loads(arguments) for _, arguments in found] == [{"path": "a.txt"}, {"path": "b.txt"}]
    assert len({id for id, _ in found}) == 2


@pytest.mark.parametrize("path", ["/messages", "/responses", "/chat/completions"])
def test_events_without_a_blank_line_between_them_are_passed_on(caller: Caller, path: str) -> None:
    caller.served.llm.enqueue("It listens on 5433.", fault="no_blanks")
    said: dict[str, Any] = {"messages": [{"role": "user", "content": "Port?"}], "max_tokens": 500}
    body = {"input": "Port?"} if path == "/responses" else said
    answer = caller.post(json.dumps(body | {"model": "scripted", "stream": True}), path=path)
    events = [json.loads(line[5:]) for line in answer.text.split("\n") if line.startswith("data: {")]
    texts = {
        "/messages": lambda one: one.get("delta", {}).get("text", ""),
        "/responses": lambda one: one["delta"] if one["type"] == "response.output_text.delta" else "",
        "/chat/completions": lambda one: one["choices"][0]["delta"].get("content") or "" if one["choices"] else "",
    }
    assert "".join(map(texts[path], events)) == "It listens on 5433."


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_a_reply_that_announces_calls_and_has_none_ends_the_turn(caller: Caller, is_stream: bool) -> None:
    caller.served.llm.enqueue("Done.", finish_reason="tool_calls")
    body = {"model": "scripted", "max_tokens": 500, "messages": [{"role": "user", "content": "Go on."}]}
    answer = caller.post(json.dumps(body | {"stream": is_stream}), path="/messages")
    assert '"stop_reason": "end_turn"' in answer.text


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("reason", ["abort", "error"])
def test_an_answer_that_a_server_gives_up_is_an_error(caller: Caller, reason: str, is_stream: bool) -> None:
    caller.served.llm.enqueue("Half of", finish_reason=reason)
    body = {"model": "scripted", "max_tokens": 500, "messages": [{"role": "user", "content": "Go on."}]}
    answer = caller.post(json.dumps(body | {"stream": is_stream}), path="/messages")
    assert "The provider broke the reply off." in answer.text and '"stop_reason": "end_turn"' not in answer.text
    assert answer.status_code == (200 if is_stream else 502)


@pytest.mark.parametrize("arguments", ["", None, " "])
@pytest.mark.parametrize("path", ["/messages", "/responses"])
def test_a_call_without_arguments_has_an_empty_object(caller: Caller, path: str, arguments: str | None) -> None:
    caller.served.llm.enqueue(events=chunks(call("read", arguments, index=0, id="c1")))
    assert [text.strip() or "{}" for _, text in calls_of(caller, path, is_stream=True)] == ["{}"]


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ({"content": [{"type": "text", "text": "All "}, {"type": "text", "text": "right."}]}, ["text"]),
        ({"content": "Eight.</think>\n\n56."}, ["thought", "text"]),
        ({"content": "<think>Eight.</think>56."}, ["thought", "text"]),
        ({"content": None, "function_call": {"name": "read", "arguments": A}}, ["call"]),
        (
            {"content": "", "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": {"path": 1}}}]},
            ["call"],
        ),
        ({"reasoning": "Hm.", "content": "56."}, ["thought", "text"]),
        ({"content": 7, "tool_calls": {"a": 1}}, []),
    ],
)
def test_a_whole_completion_is_read_whatever_its_form(message: dict[str, Any], kinds: list[str]) -> None:
    pieces = PartialCompletion().whole({"choices": [{"message": message, "finish_reason": "stop"}], "usage": None})
    assert [piece.kind for piece in pieces] == kinds


@pytest.mark.parametrize("completion", [{}, {"choices": None}, {"choices": [None]}, {"choices": [{"message": "x"}]}])
def test_a_completion_without_a_message_has_no_pieces(completion: dict[str, Any]) -> None:
    assert PartialCompletion().whole(completion) == []


def test_thoughts_go_back_to_their_model_and_to_no_other() -> None:
    fields = {"reasoning_content": "I should look."}
    seal = sealed_thoughts.sealed(fields, MODEL)
    assert sealed_thoughts.opened(seal, MODEL) == fields
    for other in ("", "chatsite.x", seal[:-1], seal.removeprefix("chatsite."), None, 7):
        assert sealed_thoughts.opened(other, MODEL) == {}
    assert sealed_thoughts.opened(seal, "http://b.example/v1 deep") == {}
    block = {"type": "thinking", "thinking": "changed", "signature": seal}
    use = {"type": "tool_use", "id": "t", "name": "ls", "input": {}}
    (said,) = of_blocks([{"role": "assistant", "content": [block, use]}], MODEL)
    assert said["reasoning_content"] == "I should look." and said["tool_calls"]
    (said,) = of_blocks([{"role": "assistant", "content": [block, use]}], "another")
    assert "reasoning_content" not in said
    items = [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": seal},
        {"type": "message", "role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "t", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t", "output": "a.txt"},
        {"role": "user", "content": "Thanks."},
    ]
    said, *rest = of_items(items, MODEL)
    assert (said["content"], said["reasoning_content"]) == ("Looking.", "I should look.") and said["tool_calls"]
    assert not any("reasoning_content" in one for one in rest)
    assert not any("reasoning_content" in one for one in of_items(items, "another"))


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_a_model_that_thinks_gets_its_thoughts_with_the_results_of_its_calls(caller: Caller, is_stream: bool) -> None:
    caller.served.llm.enqueue("", thoughts="I should look.", calls=[("ls", "{}")])
    tool = {"name": "ls", "input_schema": {"type": "object"}}
    body: dict[str, Any] = {
        "model": "scripted", "max_tokens": 500, "tools": [tool], "thinking": {"type": "enabled", "budget_tokens": 99},
        "messages": [{"role": "user", "content": "List."}],
    }  # fmt: skip
    answer = caller.post(json.dumps(body | {"stream": is_stream}), path="/messages")
    blocks: list[dict[str, Any]] = [] if is_stream else answer.json()["content"]
    for line in answer.text.split("\n") if is_stream else ():
        event = json.loads(line[5:]) if line.startswith("data:") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        elif event.get("type") == "content_block_delta":
            kind = event["delta"]["type"].removesuffix("_delta")
            if kind != "input_json":
                blocks[-1][kind] = blocks[-1].get(kind, "") + event["delta"][kind]
    result = {"type": "tool_result", "tool_use_id": blocks[-1]["id"], "content": "a.txt"}
    body["messages"] += [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
    assert caller.post(json.dumps(body), path="/messages").status_code == 200
    (said,) = [one for one in caller.sent if one["role"] == "assistant"]
    assert said["reasoning_content"] == "I should look."


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", ["/messages", "/responses"])
def test_a_call_that_a_model_writes_as_text_is_a_call(caller: Caller, path: str, is_stream: bool) -> None:
    caller.served.llm.enqueue(
        "I look.\n\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>"
    )
    ((_, arguments),) = calls_of(caller, path, is_stream=is_stream)
    assert json.loads(arguments) == {"path": "a.txt"}


FORMS = ["/chat/completions", "/responses", "/messages", "/messages of Claude"]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("form", FORMS)
def test_an_answer_has_the_form_that_was_asked_for(caller: Caller, claude: str, form: str, is_stream: bool) -> None:
    """Some servers stream though one object was asked for, and others send one object in place of a stream."""
    path, _, is_claude = form.partition(" ")
    ask = {"model": claude if is_claude else "scripted", "max_tokens": 3_000, "stream": is_stream}
    tool: Any = {"name": "read", "input_schema": TOOL}
    if path != "/messages":
        tool = {"type": "function", "name": "read", "parameters": TOOL}
    ask["tools"] = [{"type": "function", "function": tool} if path == "/chat/completions" else tool]
    ask |= (
        {"input": "Read."}
        if path == "/responses"
        else {"messages": [{"role": "user", "content": [{"type": "text", "text": "Read."}]}]}
    )
    given = {"text": "I look.", "calls": [("read", A), ("read", B)]}
    answers = []
    for fault in (None, "other_form"):
        caller.served.llm.enqueue(**given, fault=fault)
        answers.append(caller.post(json.dumps(ask), path=path))
    usual, other = answers
    assert other.status_code == 200, other.text
    assert other.headers["content-type"].split(";")[0] == usual.headers["content-type"].split(";")[0]
    assert _said(other.text, is_stream=is_stream) == _said(usual.text, is_stream=is_stream)


def _said(answer: str, *, is_stream: bool) -> list[str]:
    """The text, the arguments and the finish reasons in an answer of any protocol, each as one text."""
    data = [line[5:].strip() for line in answer.split("\n") if line.startswith("data:")] if is_stream else [answer]
    found: dict[str, str] = {}

    def walk(value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, one in value.items():
                if key != "response":  # the end of a stream of Responses has all of it again
                    walk(one, key)
        elif isinstance(value, list):
            for one in value:
                walk(one, name)
        elif isinstance(value, str) and name in ("content", "text", "arguments", "partial_json", "path", "stop_reason"):
            found[name] = found.get(name, "") + value.replace(" ", "")
        elif value and name == "finish_reason":
            found[name] = value

    for one in data:
        walk(json.loads(one) if one != "[DONE]" else {})
    return sorted(found.items())


@pytest.fixture
def claude(caller: Caller) -> Iterator[str]:
    """A model behind Anthropic's Messages."""
    caller.run(
        "from conversations.models import ModelProfile\n"
        "ModelProfile.objects.get_or_create(name='claude', defaults={'provider': 'anthropic', 'model_id': 'claude-x', "
        f"'base_url': '{caller.served.llm.url}', 'api_key': 'sk-ant', 'window': 9_000}})"
    )
    yield "claude"
    caller.rows("DELETE FROM conversations_modelprofile WHERE name = 'claude'")


def test_a_form_that_one_api_of_a_server_wants_is_not_used_for_its_other(caller: Caller, claude: str) -> None:
    llm, said = caller.served.llm, [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]
    llm.enqueue(status=400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    assert caller.ask(said, model=claude, max_tokens=50).status_code == 200
    assert llm.last_request.body.keys() & {"max_tokens", "max_completion_tokens"} == {"max_completion_tokens"}
    body = {"model": claude, "max_tokens": 50, "messages": said}
    assert caller.post(json.dumps(body), path="/messages").status_code == 200
    assert llm.last_request.body["max_tokens"] == 50


@pytest.mark.parametrize("habit", STREAMS)
def test_callers_of_chat_completions_get_calls_numbered_apart(caller: Caller, habit: str) -> None:
    text, calls, reason = chat_calls(caller, is_stream=True, events=STREAMS[habit])
    assert [(name, json.loads(arguments)) for name, arguments in calls] == [
        ("read", {"path": "a.txt"}), ("read", {"path": "b.txt"}),
    ]  # fmt: skip
    assert (text, reason) == ("", "tool_calls")


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Done."}]


@pytest.mark.parametrize("tools", [{}, {"read": TOOL}], ids=["without tools", "with tools"])
async def test_other_forms_of_an_answer_reach_callers_of_chat_completions_in_openai_s(tools: dict[str, Any]) -> None:
    async def said(*choices: dict[str, Any]) -> list[dict[str, Any]]:
        async def stream() -> AsyncGenerator[str]:
            for choice in choices:
                yield f"data: {json.dumps({'choices': [choice]})}\n\n"

        events = [event async for event in with_meant_calls(stream(), tools)]
        return [json.loads(event[5:])["choices"][0] for event in events]

    def whole(**choice: Any) -> dict[str, Any]:
        content = meant_answer(json.dumps({"choices": [choice]}).encode(), tools)
        answer: dict[str, Any] = json.loads(content)["choices"][0]
        return answer

    thought = {"content": "Done.", "reasoning_content": "Hm."}
    assert whole(message={"content": PARTS}, finish_reason="eos") == {"message": thought, "finish_reason": "stop"}
    begun, ended = await said({"delta": {"content": PARTS}}, {"delta": None, "finish_reason": "STOP"})
    assert (begun["delta"], ended) == (thought, {"delta": {}, "finish_reason": "stop"})
    for choice in (
        {"message": {"content": "Done."}, "finish_reason": "stop"},
        {"text": "Done.", "finish_reason": "eos"},
    ):
        assert [one["delta"] for one in await said(choice)] == [{"content": "Done."}, {}]
    old = {"function_call": {"name": "read", "arguments": A}}
    answer = whole(message=old, finish_reason="function_call")
    begun, ended = (await said({"delta": old}, {"delta": {}, "finish_reason": "function_call"}))[-2:]
    if not tools:  # a caller of the old form
        assert answer == {"message": old, "finish_reason": "function_call"}
        assert (begun["delta"], ended["finish_reason"]) == (old, "function_call")
        return
    for call, reason in (
        (answer["message"]["tool_calls"][0], answer["finish_reason"]),
        (begun["delta"]["tool_calls"][0], ended["finish_reason"]),
    ):
        assert (call["function"], call["type"], reason) == (old["function_call"], "function", "tool_calls")
        assert call["id"].startswith("call_")
    assert whole(message={"content": "Done."}, finish_reason="tool_calls")["finish_reason"] == "stop"


def chat_calls(caller: Caller, *, is_stream: bool, **answer: Any) -> tuple[str, list[tuple[str, str]], str]:
    """(text, calls, finish reason) of an answer to OpenAI's own client, which is offered the tool `read`."""
    caller.served.llm.enqueue(**answer)
    tools: Any = [{"type": "function", "function": {"name": "read", "parameters": TOOL}}]
    ask = caller.client.chat.completions
    if not is_stream:
        (choice,) = ask.create(model="scripted", messages=caller.history(1), tools=tools).choices
        calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
        return choice.message.content or "", calls, choice.finish_reason
    text, reason, parts = "", "", dict[int, tuple[str, str]]()
    for chunk in ask.create(model="scripted", messages=caller.history(1), tools=tools, stream=True):
        delta, reason = chunk.choices[0].delta, chunk.choices[0].finish_reason or reason
        text += delta.content or ""
        for call in delta.tool_calls or ():
            name, arguments = parts.get(call.index, ("", ""))
            parts[call.index] = name + (call.function.name or ""), arguments + (call.function.arguments or "")
    return text, list(parts.values()), reason


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_chat_completions_have_the_calls_that_a_model_means(caller: Caller, is_stream: bool) -> None:
    written = "<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>"
    found = chat_calls(caller, is_stream=is_stream, text=f"I look.\n\n{written}", piece=5)
    assert found == ("I look.\n\n", [("read", A)], "tool_calls")
    found = chat_calls(caller, is_stream=is_stream, text="I look.", calls=[("functions.Read", A)])
    assert found == ("I look.", [("read", A)], "tool_calls")
    for text in ("Use <tool_call> for it.", "a < b, and `<function=read>` is a tag", written + "\nThat was it."):
        assert chat_calls(caller, is_stream=is_stream, text=text, piece=3) == (text, [], "stop")
    found = chat_calls(caller, is_stream=is_stream, text=written, finish_reason="length")
    assert found == (written, [], "length")


@pytest.mark.parametrize("name", [["ls"], {"a": 1}, 7, None, ""])
def test_tools_of_any_form_fail_nothing(caller: Caller, name: Any) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": ["x"]}}, None, {"function": "f"}]
    body = {"model": "scripted", "messages": [{"role": "user", "content": "Hi."}], "tools": tools}
    assert caller.post(json.dumps(body), path="/chat/completions").status_code in (200, 400)


@pytest.mark.parametrize("calls", [{"a": 1}, "x", [7], [{"function": 7}], [{"function": {"name": ["x"]}}]])
def test_calls_of_any_form_pass_as_they_are(calls: Any) -> None:
    content = json.dumps({"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "stop"}]})
    assert meant_answer(content.encode(), {"read": TOOL}) == content.encode()


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("answer", "text", "calls", "reason"),
    [
        ({"text": "It is 51 <func"}, "It is 51 <func", 0, "stop"),
        ({"text": "", "calls": [("read", A)]}, "", 1, "tool_calls"),
        ({"text": "<function=read><parameter=path>a.txt</parameter></function>"}, "", 1, "tool_calls"),
    ],
    ids=["text", "a call", "a written call"],
)
def test_an_answer_that_ends_without_a_reason_gets_one(
    caller: Caller, answer: dict[str, Any], text: str, calls: int, reason: str, is_stream: bool
) -> None:
    caller.served.llm.enqueue(**answer, fault="no_reason")
    tools: Any = [{"type": "function", "function": {"name": "read", "parameters": TOOL}}]
    asked = caller.client.chat.completions.with_raw_response.create(
        model="scripted", messages=caller.history(1), tools=tools, stream=is_stream
    )
    heard = list(asked.parse()) if is_stream else [asked.parse()]
    found = [choice for one in heard for choice in one.choices]
    said = [choice.delta if is_stream else choice.message for choice in found]
    assert "".join(one.content or "" for one in said) == text
    assert [call.function.name for one in said for call in one.tool_calls or [] if call.function.name] == [
        "read"
    ] * calls
    assert [choice.finish_reason for choice in found if choice.finish_reason] == [reason]


async def test_the_usage_comes_once_with_the_end_of_written_calls() -> None:
    async def stream() -> AsyncGenerator[str]:
        text = "<function=read><parameter=path>a.txt</parameter></function>"
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
        yield f"data: {json.dumps({'choices': [choice], 'usage': {'prompt_tokens': 9, 'completion_tokens': 7}})}\n\n"
        yield "data: [DONE]\n\n"

    events = [event async for event in with_meant_calls(stream(), {"read": TOOL})]
    assert ["usage" in event for event in events] == [False] * (len(events) - 2) + [True, False]
    assert '"finish_reason": "tool_calls"' in events[-2] and '"name": "read"' in events[-3]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", ["Read", "functions.read", "read<|channel|>commentary", " read "])
def test_a_call_has_the_name_that_the_caller_offered(caller: Caller, name: str, is_stream: bool) -> None:
    caller.served.llm.enqueue("", calls=[(name, A)])
    body = {"max_tokens": 500, "messages": [{"role": "user", "content": "Read."}], "model": "scripted"}
    body |= {"tools": [{"name": "read", "input_schema": TOOL}], "stream": is_stream}
    answer = caller.post(json.dumps(body), path="/messages")
    assert answer.text.count('"name": "read"') == 1


def test_a_server_that_refuses_a_schema_gets_plain_ones_from_then_on(caller: Caller) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {}}
    body = {"max_tokens": 500, "messages": [{"role": "user", "content": "Hi."}], "model": "scripted"}
    body |= {"tools": [{"name": "read", "input_schema": schema}]}
    message = (
        "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'"
    )
    caller.served.llm.enqueue(status=400, message=message)
    for _ in range(2):
        assert caller.post(json.dumps(body), path="/messages").status_code == 200
    sent = ["$schema" in json.dumps(request.body["tools"]) for request in caller.served.llm.chats]
    assert sent == [True, False, False]


SIGNATURE = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", ["/messages", "/responses"])
@pytest.mark.parametrize("kind", ["signature", "thoughts"])
def test_thoughts_that_a_caller_cannot_return_go_back_with_its_calls(
    caller: Caller, kind: str, path: str, is_stream: bool
) -> None:
    caller.served.llm.enqueue("", calls=[("read", A)], **{kind: "c2lnbmVk"})
    ((id, arguments),) = calls_of(caller, path, is_stream=is_stream)
    if path == "/messages":
        use = {"type": "tool_use", "id": id, "name": "read", "input": json.loads(arguments)}
        result = {"type": "tool_result", "tool_use_id": id, "content": "a"}
        said = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        body: dict[str, Any] = {"max_tokens": 500, "messages": [{"role": "user", "content": "Read both."}, *said]}
    else:
        use = {"type": "function_call", "call_id": id, "name": "read", "arguments": arguments}
        result = {"type": "function_call_output", "call_id": id, "output": "a"}
        body = {"input": [{"role": "user", "content": "Read both."}, use, result]}
    answer = caller.post(json.dumps(body | {"model": "scripted"}), path=path)
    assert answer.status_code == 200, answer.text
    (back,) = [one for one in caller.sent if one["role"] == "assistant"]
    if kind == "signature":
        assert back["tool_calls"][0]["extra_content"] == SIGNATURE["extra_content"]
    else:
        assert back["reasoning_content"] == "c2lnbmVk"


async def test_held_thoughts_are_those_of_their_person_and_model() -> None:
    reading = PartialCompletion()
    function = {"name": "read", "arguments": A}
    list(reading.whole({"choices": [{"message": {"tool_calls": [{"id": "c1", "function": function} | SIGNATURE]}}]}))
    await held_thoughts.hold(1, MODEL, reading)
    called = [{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}]
    (back,) = held_thoughts.with_held(called, 1, MODEL)  # type: ignore[misc]
    assert back["tool_calls"] == [called[0]["tool_calls"][0] | SIGNATURE]  # type: ignore[index]
    assert held_thoughts.with_held(called, 2, MODEL) == called
    assert held_thoughts.with_held(called, 1, "another") == called
    for odd in (None, "Hi.", [None, {"role": "assistant", "tool_calls": [7]}, {"tool_calls": [{"id": ""}]}]):
        assert held_thoughts.with_held(odd, 1, MODEL) == odd


@pytest.mark.parametrize(
    ("complaint", "field"),
    [
        ("The reasoning_content in the thinking mode must be passed back to the API.", "reasoning_content"),
        ("Function call is missing a thought_signature in functionCall parts.", "extra_content"),
    ],
)
def test_a_server_that_requires_thoughts_is_asked_with_placeholders_from_then_on(
    caller: Caller, complaint: str, field: str
) -> None:
    function = {"name": "read", "arguments": A}
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    ]
    caller.served.llm.enqueue(status=400, message=complaint)
    caller.ask(messages)
    caller.ask(messages)
    sent = [field in json.dumps(request.messages) for request in caller.served.llm.chats]
    assert sent == [False, True, True]


@pytest.mark.parametrize(
    "complaint",
    [
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "Function call is missing a thought_signature in functionCall parts.",
        "Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9.",
        "Invalid schema for function 'read': array schema missing items.",
        "messages: text content blocks must be non-empty",
    ],
)
def test_a_server_that_refuses_each_form_is_not_asked_for_ever(caller: Caller, complaint: str) -> None:
    function = {"name": "read", "arguments": A}
    call = {"id": "c1", "type": "function", "function": function, "extra_content": {"google": {}}}
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    ]
    tools = [{"type": "function", "function": {"name": "read", "parameters": TOOL | {"additionalProperties": False}}}]
    caller.served.llm.enqueue(status=400, message=complaint, times=30)
    body = {"model": "scripted", "messages": messages, "tools": tools}
    answer = caller.post(json.dumps(body), path="/chat/completions")
    assert answer.status_code == 400 and complaint in answer.json()["error"]["message"]
    assert len(caller.served.llm.chats) <= 2, "once, if the site knows already what this server requires"


def test_a_server_that_changes_its_mind_is_not_asked_for_ever(caller: Caller) -> None:
    function = {"name": "read", "arguments": A}
    call = {"id": "c1", "type": "function", "function": function}
    missing, unknown = "reasoning_content is missing", "Unrecognized field: messages[1].reasoning_content"
    messages = [
        {"role": "user", "content": f"{missing} {unknown}"},  # a person's own words: the site learns nothing from them
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    ]
    for _ in range(MAX_FORMS):
        caller.served.llm.enqueue(status=400, message=missing)
        caller.served.llm.enqueue(status=400, message=unknown)
    body = {"model": "scripted", "messages": messages}
    assert caller.post(json.dumps(body), path="/chat/completions").status_code == 400
    assert len(caller.served.llm.chats) <= MAX_FORMS


def test_a_server_that_refuses_thoughts_is_asked_without_them_from_then_on(caller: Caller) -> None:
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
        {"role": "user", "content": "Go on."},
    ]
    caller.served.llm.enqueue(status=400, message="Unrecognized field: messages[1].reasoning_content")
    caller.ask(messages)
    caller.ask(messages)
    sent = [["reasoning_content" in one for one in request.messages] for request in caller.served.llm.chats]
    assert sent == [[False, True, False], [False] * 3, [False] * 3]


def test_claude_gets_only_thoughts_that_are_signed_by_another() -> None:
    signed = {"type": "thinking", "thinking": "a", "signature": "EqQB"}
    ours = {"type": "thinking", "thinking": "b", "signature": sealed_thoughts.sealed({"reasoning": "b"}, MODEL)}
    text = {"type": "text", "text": "4"}
    body = {
        "thinking": {"type": "enabled"},
        "messages": [
            {"role": "user", "content": "2+2?"},
            {"role": "assistant", "content": [signed | {"signature": ""}, ours, signed, text]},
            {"role": "assistant", "content": [ours]},
            {"role": "user", "content": [text]},
        ],
    }
    kept = _with_own_thoughts(body)
    assert [one["content"] for one in kept["messages"]] == ["2+2?", [signed, text], [text]]
    assert _with_own_thoughts(kept) is kept, "what is theirs passes as it is"
    bare = _without_thoughts(kept)
    assert [one["content"] for one in bare["messages"]] == ["2+2?", [text], [text]] and "thinking" not in bare
