"""OpenAI's own tools that the caller carries out, by the official client, in front of a model of chat completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conversations.gateway.openai_responses import request
from conversations.gateway.openai_responses.typed_tools import call_fields
from conversations.models import ModelProfile
from tests.gateway.caller import Caller

TOOLS: list[Any] = [
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "local_shell"},
    {"type": "apply_patch"},
]
CALLS = [
    ("shell", '{"commands": ["ls", "pwd"], "timeout_ms": 900}'),
    ("local_shell", '{"command": ["ls", "-l"], "working_directory": "/work"}'),
    ("apply_patch", '{"type": "update_file", "path": "a.py", "diff": "@@\\n-1\\n+2"}'),
]
MODEL = ModelProfile(name="scripted", base_url="http://127.0.0.1:1/v1", window=8_000)


@pytest.mark.parametrize("streams", [False, True])
def test_their_calls_come_back_as_items_of_their_types(caller: Caller, streams: bool) -> None:
    caller.served.llm.enqueue("I look.", calls=CALLS)
    ask: dict[str, Any] = {"model": "scripted", "input": "hi", "tools": TOOLS, "store": False}
    if streams:
        events = list(caller.client.responses.create(stream=True, **ask))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        answer = events[-1].response
        done = [event.item for event in events if event.type == "response.output_item.done"]
        assert [item.to_dict() for item in done] == [item.to_dict() for item in answer.output]
        assert not [event for event in events if "function_call" in event.type]
    else:
        raw = caller.client.responses.with_raw_response.create(**ask)
        assert "x-chatsite-left-out" not in raw.headers
        answer = raw.parse()
    _, shell, local, patch = answer.output
    assert (shell.type, shell.action.commands, shell.action.timeout_ms) == ("shell_call", ["ls", "pwd"], 900)
    assert (local.type, local.action.type, local.action.command) == ("local_shell_call", "exec", ["ls", "-l"])
    assert (local.action.env, local.action.working_directory) == ({}, "/work")
    assert (patch.type, patch.operation.path) == ("apply_patch_call", "a.py")
    assert (patch.operation.type, patch.operation.diff) == ("update_file", "@@\n-1\n+2")
    assert all(item.call_id and item.status == "completed" for item in (shell, local, patch))
    offered = [tool["function"] for tool in caller.served.llm.last_request.body["tools"]]
    assert [tool["name"] for tool in offered] == ["shell", "local_shell", "apply_patch"]
    assert [tool["parameters"]["required"] for tool in offered] == [["commands"], ["command"], ["type", "path"]]


def test_a_caller_goes_on_from_its_items_and_results(caller: Caller) -> None:
    """The history is one of calls and results, with which every model is at home."""
    caller.served.llm.enqueue("", calls=CALLS)
    first = caller.client.responses.create(model="scripted", input="hi", tools=TOOLS)
    shell, local, patch = first.output
    output = [
        {"stdout": "out0\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "out1\n", "stderr": "bad", "outcome": {"type": "exit", "exit_code": 2}},
        {"stdout": "out2\n", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    results: list[Any] = [
        {"type": "shell_call_output", "call_id": shell.call_id, "output": output},
        {"type": "local_shell_call_output", "id": local.call_id, "output": '{"stdout": "a"}'},
        {"type": "apply_patch_call_output", "call_id": patch.call_id, "status": "failed", "output": "no such line"},
    ]
    by_id = {"input": results, "previous_response_id": first.id}
    whole = {"input": [{"role": "user", "content": "hi"}, *(item.to_dict() for item in first.output), *results]}
    for given in (by_id, whole):
        caller.client.responses.create(model="scripted", tools=TOOLS, **given)  # type: ignore[call-overload]
        user, called, *told = caller.served.llm.last_request.body["messages"]
        assert user == {"role": "user", "content": "hi"}
        named = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in called["tool_calls"]]
        assert named == [(name, json.loads(arguments)) for name, arguments in CALLS]
        assert [(message["role"], message["tool_call_id"], message["content"]) for message in told] == [
            ("tool", shell.call_id, "out0\n\nout1\n[errors]\nbad\n[exit code 2]\n\nout2\n[ended by its time limit]"),
            ("tool", local.call_id, '{"stdout": "a"}'),
            ("tool", patch.call_id, "[failed]\n\nno such line"),
        ]


@pytest.mark.parametrize(
    ("name", "arguments", "field", "expected"),
    [
        ("shell", {"commands": "ls"}, "action", {"commands": ["ls"]}),
        ("shell", {"arguments": "ls -l"}, "action", {"commands": ["ls -l"]}),
        ("shell", {"arguments": ["ls"]}, "action", {"commands": ["ls"]}),
        ("shell", {"commands": ["ls"], "timeout_ms": None, "why": "to see"}, "action", {"commands": ["ls"]}),
        ("shell", {}, "action", {"commands": []}),
        ("local_shell", {"command": "ls"}, "action", {"type": "exec", "env": {}, "command": ["bash", "-lc", "ls"]}),
        ("apply_patch", {"type": "delete_file", "path": "a"}, "operation", {"type": "delete_file", "path": "a"}),
    ],
)
def test_arguments_of_other_forms_are_read(name: str, arguments: Any, field: str, expected: Any) -> None:
    assert call_fields(name, arguments) == {"type": f"{name}_call", field: expected}


def test_each_is_offered_once_and_gives_way_to_a_function_of_its_name() -> None:
    own = {"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}}
    hosted = {"type": "shell", "environment": {"type": "container_auto"}}
    tools = [*TOOLS, *TOOLS, own, hosted]
    read = request.read({"model": "scripted", "input": "hi", "tools": tools}, MODEL)
    assert [tool["function"]["name"] for tool in read["tools"]] == ["local_shell", "apply_patch", "shell"]
    assert read["tools"][-1]["function"]["parameters"] == own["parameters"]


@pytest.mark.parametrize("kind", ["shell", "apply_patch"])
def test_the_choice_may_name_one(kind: str) -> None:
    asked = {"model": "scripted", "input": "hi", "tools": TOOLS, "tool_choice": {"type": kind}}
    assert request.read(asked, MODEL)["tool_choice"] == {"type": "function", "function": {"name": kind}}


def test_items_without_a_call_are_lines_of_text() -> None:
    items: list[Any] = [
        {"role": "user", "content": "hi"},
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": ["x"], "output": [{"stdout": "listed"}]},
        {"type": "apply_patch_call", "call_id": "k", "operation": "none"},
    ]
    messages = request.read({"model": "scripted", "input": items, "tools": TOOLS}, MODEL)["messages"]
    assert not [message for message in messages if message.get("tool_calls") or message["role"] == "tool"]
    assert "listed" in json.dumps(messages)
