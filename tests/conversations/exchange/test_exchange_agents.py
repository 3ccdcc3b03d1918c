"""Sessions of Qwen Code, pi, Cline, Gemini CLI and opencode, as their programs keep them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from conversations.errors import Invalid
from conversations.exchange.formats import cline, gemini_cli, opencode, pi, qwen_code
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.session_messages import SessionMessages, result_text
from conversations.exchange.imports import import_conversations
from conversations.models import User
from tests.conversations.exchange.test_exchange_sessions import Json, calls, places, said, taken
from tests.conversations.exports import picture
from tests.growth import growth

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


def gemini(at: int, kind: str, *parts: Json, **more: Any) -> Json:
    line = {"id": f"g{at}", "timestamp": f"2026-11-29T08:00:{at:02}.7Z", "type": kind, "content": list(parts)}
    return line | more


def part_of(role: str, *parts: Json, **more: Any) -> Json:
    info = {"role": role, "time": {"created": 1795942800000}, "modelID": "qwen3", "providerID": "p"}
    return {"info": info | more, "parts": list(parts)}


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


GEMINI: list[Json] = [
    {"sessionId": "s1", "projectHash": "fa02", "startTime": "2026-11-29T08:00:00.7Z", "kind": "main"},
    {"$set": {"messages": [gemini(0, "user", {"text": "<session_context>\nThis is the Gemini CLI. We are setting up "
                                              "the context for our chat.\nA tree.\n</session_context>"})]}},
    gemini(1, "user", {"text": "Fix it."}),
    {"$set": {"lastUpdated": "2026-11-29T08:00:01.7Z"}},
    gemini(2, "gemini", content="I look.", model="qwen3", thoughts=[{"subject": "Hm", "description": "Hm."}]),
    gemini(2, "gemini", content="I look.", model="qwen3", toolCalls=[
        {"id": "c1", "name": "bash", "args": {"command": "ls"}, "status": "success",
         "result": [{"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.py"}}}]},
        {"id": "c2", "name": "bash", "args": {"command": "rm"}, "status": "error",
         "result": [{"functionResponse": {"id": "c2", "name": "bash", "response": {"error": "No."}}}]},
    ]),
    gemini(3, "user", {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.py"}}},
           {"functionResponse": {"id": "c2", "name": "bash", "response": {"error": "No."}}}),
    gemini(4, "user", {"text": "Taken back."}),
    {"$rewindTo": "g4"},
    gemini(5, "info", content="Compressing."),
    gemini(6, "gemini", content="It is fixed.", model="qwen3"),
    {"$set": {"messages": [gemini(7, "user", {"text": "<state_snapshot>They fixed it.</state_snapshot>"}),
                           gemini(8, "gemini", {"text": "Got it. Thanks for the additional context!"}),
                           gemini(9, "gemini", {"text": "It is fixed."})]}},
    gemini(10, "user", {"text": "Thanks."}, {"inlineData": {"mimeType": "image/png", "data": RED}}),
]  # fmt: skip
OPENCODE: Json = {
    "info": {"id": "s1", "slug": "calm", "title": "The fix", "directory": "/work", "time": {"created": 1795942800000}},
    "messages": [
        part_of("user", text("Fix it."), text("The file a.py: …") | {"synthetic": True}),
        part_of(
            "assistant", {"type": "step-start"}, {"type": "reasoning", "text": "Hm."}, text("I look."),
            {"type": "tool", "tool": "bash", "callID": "c1",
             "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}},
            {"type": "tool", "tool": "bash", "callID": "c2",
             "state": {"status": "error", "input": {"command": "rm"}, "error": "No."}},
            {"type": "step-finish", "reason": "tool-calls"},
        ),
        part_of("assistant", text("It is fixed.")),
        part_of("user", {"type": "compaction", "auto": True}),
        part_of("assistant", text("They fixed it."), summary=True),
        part_of("user", text("Thanks."),
                {"type": "file", "mime": "image/png", "filename": "a.png", "url": f"data:image/png;base64,{RED}"}),
    ],
}  # fmt: skip
SESSIONS = {"qwen code": QWEN, "pi": PI, "cline": [CLINE], "gemini cli": GEMINI, "opencode": [OPENCODE]}


@pytest.mark.parametrize("lines", SESSIONS.values(), ids=SESSIONS)
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
    [
        (QWEN[:6], QWEN),
        (PI[:8], PI),
        ([CLINE | {"messages": CLINE["messages"][:4]}], [CLINE]),
        (GEMINI[:11], GEMINI),
        ([OPENCODE | {"messages": OPENCODE["messages"][:3]}], [OPENCODE]),
    ],
    ids=SESSIONS,
)
def test_a_session_that_went_on_brings_only_its_new_messages(ada: User, begun: list[Json], lines: list[Json]) -> None:
    (row,) = taken(ada, begun)
    assert said(row) == SAID[:-1]
    again = taken(ada, lines)
    assert (list(again), [(one.pk, new) for one, new in again.updated]) == ([], [(row.pk, 1)])
    assert said(row) == SAID


def test_sessions_of_several_programs_in_a_file_stay_apart(ada: User) -> None:
    alone = [one | {"messages": one["messages"][:1]} for one in (CLINE, OPENCODE)]
    rows = taken(ada, [*QWEN[:1], *PI[:3], alone[0], *GEMINI[:3], alone[1], *QWEN[:1]])
    assert [said(row) for row in rows] == [[("user", "Fix it.")]] * 6


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (qwen_code.read_conversation, {qwen_code.LINES: QWEN[:7]}),
        (pi.read_conversation, {pi.LINES: [*PI[:9], PI[-1]]}),
        (cline.read_conversation, CLINE | {"messages": CLINE["messages"][:4]}),
        (gemini_cli.read_conversation, {gemini_cli.LINES: GEMINI[:12]}),
        (opencode.read_conversation, OPENCODE | {"messages": OPENCODE["messages"][:4]}),
    ],
    ids=SESSIONS,
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


def test_an_older_session_of_gemini_cli_is_one_document(ada: User) -> None:
    rows = taken(ada, [GEMINI[0] | {"messages": [GEMINI[2], *GEMINI[5:7], GEMINI[10]]}])
    assert [said(row) for row in rows] == [SAID[:-1]]
    assert calls(rows.conversations[0]) == CALLS


def test_a_session_of_opencode_that_nobody_named_has_no_title_of_its_program(ada: User) -> None:
    info = OPENCODE["info"] | {"title": "New session - 2026-11-29T08:00:00.000Z"}
    (row,) = taken(ada, [OPENCODE | {"info": info}])
    assert row.title == "Fix it."


@pytest.mark.parametrize("lines", [QWEN, PI, GEMINI], ids=["qwen code", "pi", "gemini cli"])
@pytest.mark.parametrize("left", [2, 0.5])
def test_the_half_written_last_line_of_a_session_keeps_the_others_in(ada: User, lines: list[Json], left: float) -> None:
    *whole, last = map(json.dumps, lines)
    cut = last[: int(left if left > 1 else left * len(last))]
    taken_in = import_conversations(ada, "\n".join([*whole, cut]).encode())
    (row,) = taken_in
    assert said(row)[:3] == SAID[:3]
    assert [one.reason.partition(":")[0] for one in taken_in.unread] == ["not valid JSON"]
    assert f"line {len(lines)}" in taken_in.unread[0].reason


def test_a_line_that_a_program_was_stopped_in_keeps_the_lines_after_it(ada: User) -> None:
    lines = [json.dumps(line) for line in GEMINI]
    (row,) = import_conversations(ada, "\n".join([*lines[:3], lines[3][:20], *lines[3:]]).encode())
    assert said(row) == SAID


def test_a_file_of_many_broken_lines_is_refused(ada: User) -> None:
    with pytest.raises(Invalid, match="not valid JSON"):
        import_conversations(ada, "\n".join([json.dumps(QWEN[0]), *["{"] * 11]).encode())
    assert not ada.conversations.exists()


def rewound_of(number: int) -> Json:
    lines = [gemini(at, "user", {"text": "Hi."}) for at in range(number)]
    return {gemini_cli.LINES: [GEMINI[0], *lines, *[{"$rewindTo": "nothing"}] * number, {"$rewindTo": "g1"}]}


def replied(number: int) -> None:
    read = SessionMessages()
    for _ in range(number):
        read.replied("r1", "Hi. " * 25, None, model="")
    assert len(read.messages()) == 1


@pytest.mark.parametrize(
    ("read", "make"),
    [(lambda data: gemini_cli.read_conversation(data, Images()), rewound_of), (replied, int)],
    ids=["gemini cli", "a reply of many parts"],
)
def test_the_time_grows_with_the_lines(read: Any, make: Any) -> None:
    measured = growth(read, make, largest=20_000)
    assert measured.is_linear, measured
