"""Sessions of Qwen Code, pi and Cline, as their programs keep them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from conversations.exchange.formats import cline, pi, qwen_code
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import result_text
from conversations.exchange.imports import import_conversations
from conversations.models import User
from tests.conversations.exchange.test_exchange_sessions import Json, calls, places, said, taken
from tests.conversations.exports import picture

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ODD: list[Any] = [None, -1.5, "x", [], {"a": 1}, [None]]
RED = picture("red").partition(",")[2]
CALLS = [("bash", '{"command": "ls"}', "a.py"), ("bash", '{"command": "rm"}', "No.")]
SAID = [("user", "Fix it."), ("assistant", "I look."), ("assistant", "It is fixed."), ("user", "Thanks.")]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def qwen(kind: str, *parts: Json, **more: Any) -> Json:
    return {"type": kind, "model": "qwen3", "message": {"role": "user", "parts": list(parts)}} | more


def qwen_lines(*lines: Json) -> list[Json]:
    """Lines of Qwen Code, each after the one before it unless it names another."""
    return [
        {"uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "sessionId": "s1", "version": "0.15.10"}
        | {"timestamp": f"2026-11-29T08:00:{at:02}.9Z"}
        | line
        for at, line in enumerate(lines)
    ]


def pi_lines(*messages: Json) -> list[Json]:
    """Lines of pi, each after the one before it unless it names another."""
    head = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-29T08:00:00.4Z", "cwd": "/work"}
    lines: list[Json] = [{"type": "model_change", "provider": "p", "modelId": "m"}]
    lines += [message if "type" in message else {"type": "message", "message": message} for message in messages]
    return [head] + [
        {"id": f"l{at}", "parentId": f"l{at - 1}" if at else None, "timestamp": f"2026-11-29T08:00:{at:02}.4Z"} | line
        for at, line in enumerate(lines)
    ]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


QWEN = qwen_lines(
    qwen("user", {"text": "Fix it."}, {"text": "<system-reminder>Be careful.</system-reminder>"}),
    {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {"event.name": "api_response"}}},
    qwen(
        "assistant", {"text": "Hm.", "thought": True}, {"text": "I look."},
        {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}},
        {"functionCall": {"id": "c2", "name": "bash", "args": {"command": "rm"}}},
    ),
    qwen(
        "tool_result", {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.py"}}},
        {"functionResponse": {"id": "c2", "name": "bash", "response": {"error": "No."}}},
    ),
    qwen("user", {"text": "Taken back."}),
    qwen("assistant", {"text": "It is fixed."}, parentUuid="u3"),
    {"type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": []}},
    qwen("user", {"text": "Thanks."}, {"inlineData": {"mimeType": "image/png", "data": RED}}),
)  # fmt: skip
PI = pi_lines(
    {"role": "user", "content": [text("Fix it.")]},
    {"role": "assistant", "model": "qwen3", "content": [
        {"type": "thinking", "thinking": "Hm."}, text("I look."),
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        {"type": "toolCall", "id": "c2", "name": "bash", "arguments": {"command": "rm"}},
    ]},
    {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [text("a.py")]},
    {"role": "toolResult", "toolCallId": "c2", "toolName": "bash", "content": [text("No.")], "isError": True},
    {"role": "user", "content": "Taken back."},
    {"type": "message", "parentId": "l4", "message":
        {"role": "assistant", "model": "qwen3", "content": [text("It is fixed.")]}},
    {"type": "compaction", "summary": "They fixed it.", "firstKeptEntryId": "l1"},
    {"role": "bashExecution", "command": "ls", "output": "a.py"},
    {"role": "user", "content": [text("Thanks."), {"type": "image", "mimeType": "image/png", "data": RED}]},
    {"type": "session_info", "name": "The fix"},
)  # fmt: skip
CLINE: Json = {
    "version": 1, "agent": "lead", "sessionId": "s1",
    "messages": [
        {"role": "user", "ts": 1795942800000, "content": [text('<user_input mode="act">Fix it.</user_input>')]},
        {"role": "assistant", "ts": 1795942801000, "modelInfo": {"id": "qwen3", "provider": "p"}, "content": [
            {"type": "thinking", "thinking": "Hm."}, text("I look."),
            {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "c2", "name": "bash", "input": {"command": "rm"}},
        ]},
        {"role": "user", "ts": 1795942802000, "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [
                {"query": "ls", "result": "a.py", "success": True},
            ]},
            {"type": "tool_result", "tool_use_id": "c2", "is_error": True, "content": [
                {"query": "rm", "result": "", "error": "No.", "success": False},
            ]},
        ]},
        {"role": "assistant", "ts": 1795942803000, "modelInfo": {"id": "qwen3"}, "content": "It is fixed."},
        {"role": "user", "ts": 1795942804000, "content": [
            text('<user_input mode="act">Thanks.</user_input>'),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": RED}},
        ]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("lines", [QWEN, PI, [CLINE]], ids=["qwen code", "pi", "cline"])
def test_a_session_comes_in_with_its_calls_results_and_images(ada: User, lines: list[Json]) -> None:
    (row,) = taken(ada, lines)
    assert said(row) == SAID
    assert calls(row) == CALLS
    assert set(row.messages.filter(role="assistant").values_list("model", flat=True)) == {"qwen3"}
    assert row.messages.get(content="Thanks.").attachments.count() == 1
    assert row.created_at.date().isoformat() == "2026-11-29"


@pytest.mark.parametrize(
    ("result", "stored"),
    [
        ({"output": "a"}, "a"),
        ({"result": {"n": 1}}, '{"result": {"n": 1}}'),
        ([{"n": 1}, {"type": "reference", "id": "x"}, {"type": "text", "text": "b"}], '{"n": 1}\n\nb'),
        ([{"type": "image", "data": "x"}, {"query": "ls", "result": "a"}], "[Image: image]\n\na"),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_result_of_any_form_is_kept_as_text(result: Any, stored: str) -> None:
    assert result_text(result) == stored


def test_the_title_that_a_person_gave_a_session_of_pi_is_kept(ada: User) -> None:
    (row,) = taken(ada, PI)
    assert row.title == "The fix"


@pytest.mark.parametrize(
    ("begun", "lines"),
    [(QWEN[:6], QWEN), (PI[:8], PI), ([CLINE | {"messages": CLINE["messages"][:4]}], [CLINE])],
    ids=["qwen code", "pi", "cline"],
)
def test_a_session_that_went_on_brings_only_its_new_messages(ada: User, begun: list[Json], lines: list[Json]) -> None:
    (row,) = taken(ada, begun)
    assert said(row) == SAID[:-1]
    again = taken(ada, lines)
    assert (list(again), [(one.pk, new) for one, new in again.updated]) == ([], [(row.pk, 1)])
    assert said(row) == SAID


def test_sessions_of_several_programs_in_a_file_stay_apart(ada: User) -> None:
    rows = taken(ada, [*QWEN[:1], *PI[:3], CLINE | {"messages": CLINE["messages"][:1]}, *QWEN[:1]])
    assert [said(row) for row in rows] == [[("user", "Fix it.")]] * 4


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (qwen_code.read_conversation, {qwen_code.LINES: QWEN[:7]}),
        (pi.read_conversation, {pi.LINES: [*PI[:9], PI[-1]]}),
        (cline.read_conversation, CLINE | {"messages": CLINE["messages"][:4]}),
    ],
    ids=["qwen code", "pi", "cline"],
)
def test_odd_values_at_any_place_keep_nothing_else_out(read: Any, data: Json) -> None:
    for path in places(data):
        if len(path) < 3 and path[:1] != ("sessionId",):
            continue
        for odd in ODD:
            changed = deepcopy(data)
            at: Any = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd
            read(changed, Images())


def test_a_file_of_cline_s_messages_is_read_as_it_was_written(ada: User) -> None:
    (row,) = import_conversations(ada, json.dumps(CLINE, indent=2).encode())
    assert said(row) == SAID
