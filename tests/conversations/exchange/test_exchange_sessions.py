"""Sessions of Claude Code and Codex, as their programs keep them: JSON lines."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from conversations.exchange.formats import codex
from conversations.exchange.formats.claude_code import LINES, read_conversation
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.imports import Imported, import_conversations
from conversations.models import Conversation, ToolCall, User
from tests.conversations.exports import picture
from tests.growth import growth

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Json = dict[str, Any]
ODD: list[Any] = [None, True, 0, -1.5, "", "x", [], {}, [None], {"a": 1}, [{"type": None}], "\x00"]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def taken(user: User, lines: list[Json]) -> Imported:
    return import_conversations(user, "\n".join(json.dumps(line) for line in lines).encode())


def said(row: Conversation) -> list[tuple[str, str]]:
    return list(row.messages.order_by("created_at").values_list("role", "content"))


def calls(row: Conversation) -> list[tuple[str, str, str | None]]:
    found = ToolCall.objects.filter(message__conversation=row).order_by("message__created_at", "call_id")
    return list(found.values_list("name", "arguments", "result"))


def chained(*lines: Json) -> list[Json]:
    """Lines of Claude Code, each after the one before it unless it names another."""
    made: list[Json] = []
    for number, line in enumerate(lines):
        head = {"parentUuid": made[-1]["uuid"] if made else None, "isSidechain": False, "sessionId": "s1"}
        made.append(head | {"uuid": f"u{number}", "timestamp": f"2026-11-29T08:{number:02}:33.974Z"} | line)
    return made


def user(content: Any, **more: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}} | more


def reply(id: str, *blocks: Json, model: str = "claude-opus-4-5", **more: Any) -> Json:
    message = {"id": id, "type": "message", "role": "assistant", "model": model, "content": list(blocks)}
    return {"type": "assistant", "message": message} | more


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def use(id: str, **arguments: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": arguments}


def result(id: str, content: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


class TestClaudeCode:
    def test_a_reply_in_several_lines_is_one_message_with_its_calls_and_results(self, ada: User) -> None:
        (row,) = taken(ada, [
            {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "Fix it."},
            *chained(
                user("Fix it.<system-reminder>Be careful.</system-reminder>"),
                {"type": "attachment", "attachment": {"type": "skill_listing"}},
                reply("m1", {"type": "thinking", "thinking": "Hm."}), reply("m1", text("I look.")),
                reply("m1", use("t1", command="ls")), reply("m1", use("t2", command="pwd")),
                user([result("t2", [text("/work")])]), user([result("t1", "a.py")]),
                reply("m2", text("It is fixed.")),
            ),
            {"type": "last-prompt", "lastPrompt": "Fix it.", "sessionId": "s1"},
        ])  # fmt: skip
        assert said(row) == [("user", "Fix it."), ("assistant", "I look."), ("assistant", "It is fixed.")]
        assert calls(row) == [("Bash", '{"command": "ls"}', "a.py"), ("Bash", '{"command": "pwd"}', "/work")]
        assert set(row.messages.filter(role="assistant").values_list("model", flat=True)) == {"claude-opus-4-5"}
        assert row.created_at.isoformat() == "2026-11-29T08:00:33.974000+00:00"

    def test_the_last_branch_comes_in_without_sub_agents_and_meta_lines(self, ada: User) -> None:
        (row,) = taken(ada, [
            *chained(
                user("Caveat: the messages below …", isMeta=True), user("Which port?"), reply("m1", text("5432.")),
                user("Search.", isSidechain=True), reply("m2", text("Nothing."), isSidechain=True),
                user("Which one?", parentUuid="u1"), reply("m3", text("5433.")),
            ),
        ])  # fmt: skip
        assert said(row) == [("user", "Which port?"), ("user", "Which one?"), ("assistant", "5433.")]

    def test_messages_before_a_compaction_come_in_and_its_summary_does_not(self, ada: User) -> None:
        (row,) = taken(ada, [
            *chained(
                user("Which port?"), reply("m1", text("5433.")),
                {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": "u1"},
                user("This session is being continued …", isCompactSummary=True), user("And the host?"),
                reply("m2", text("db1.")), user("Thanks.", parentUuid=None),
            ),
        ])  # fmt: skip
        words = ["Which port?", "5433.", "And the host?", "db1.", "Thanks."]
        assert [content for _, content in said(row)] == words

    def test_commands_stand_as_they_were_typed_and_images_come_in(self, ada: User) -> None:
        command = "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
        data = picture("red").partition(",")[2]
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        (row,) = taken(ada, chained(
            user(f"{command}<command-args>the last commit</command-args>"),
            user("<local-command-stdout>Set model to opus</local-command-stdout>"),
            user([text("See:"), image]), reply("e1", text("API Error: 529"), model="<synthetic>"),
        ))  # fmt: skip
        assert [content for _, content in said(row)] == ["/review the last commit", "See:", "API Error: 529"]
        assert row.attachments.get().media_type == "image/png"
        assert row.messages.get(role="assistant").model == ""

    def test_the_person_s_title_wins(self, ada: User) -> None:
        lines = chained(user("Hi."), reply("m1", text("Hello.")))
        titles = [{"type": "summary", "summary": "Greeting", "leafUuid": "u1"}]
        (row,) = taken(ada, [*titles, *lines])
        assert row.title == "Greeting"
        other = deepcopy(lines)
        for line in other:
            line["sessionId"] = "s2"
        titles += [{"type": "custom-title", "customTitle": "Mine", "sessionId": "s2"}]
        titles += [{"type": "ai-title", "aiTitle": "Greeting someone", "sessionId": "s2"}]
        (row,) = taken(ada, [*other, *titles])
        assert row.title == "Mine"

    def test_a_longer_file_of_a_session_brings_its_new_messages_only(self, ada: User) -> None:
        lines = chained(user("One?"), reply("m1", text("1.")), user("Two?"), reply("m2", text("2.")))
        (row,) = taken(ada, lines[:2])
        again = taken(ada, lines)
        assert (list(again), [(one.pk, new) for one, new in again.updated]) == ([], [(row.pk, 2)])
        assert [content for _, content in said(row)] == ["One?", "1.", "Two?", "2."]

    def test_long_arguments_and_results_are_cut_and_a_second_result_is_left_out(self, ada: User) -> None:
        (row,) = taken(ada, chained(
            user("Write."), reply("m1", use("t1", content="x" * 300_000)), user([result("t1", "y" * 300_000)]),
            user([result("t1", "again"), result("t9", "of no call")]), reply("m2", use("t1", content="again")),
        ))  # fmt: skip
        ((_, arguments, found),) = calls(row)
        assert len(json.loads(arguments)["content"]) == 50_000 and found and len(found) == 200_000

    def test_a_session_without_a_message_is_skipped(self, ada: User) -> None:
        taken_in = taken(
            ada, [{"type": "summary", "summary": "Nothing", "leafUuid": "u1"}, *chained(user("", isMeta=True))]
        )
        assert (list(taken_in), taken_in.skipped) == ([], 1)


def item(kind: str, **more: Any) -> Json:
    return {"timestamp": "2026-11-29T08:02:38.751Z", "type": "response_item", "payload": {"type": kind} | more}


def message(role: str, words: str) -> Json:
    return item("message", role=role, content=[{"type": "input_text", "text": words}])


def event(kind: str, **more: Any) -> Json:
    return {"timestamp": "2026-11-29T08:02:38.751Z", "type": "event_msg", "payload": {"type": kind} | more}


def line(kind: str, **payload: Any) -> Json:
    return {"timestamp": "2026-11-29T08:02:38.751Z", "type": kind, "payload": payload}


META = line("session_meta", id="s7", cwd="/work", instructions=None)
MODEL = line("turn_context", model="gpt-5-codex", cwd="/work")


class TestCodex:
    def test_messages_calls_and_outputs_come_in_and_additions_do_not(self, ada: User) -> None:
        (row,) = taken(ada, [
            META, message("developer", "<skills_instructions>…</skills_instructions>"),
            message("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"), line("world_state"),
            MODEL, message("user", "Make a file."), event("user_message", message="Make a file."),
            item("reasoning", summary=[]), message("assistant", "I look now."),
            item("function_call", name="exec_command", arguments='{"cmd": "ls"}', call_id="c1"),
            item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
            line("token_usage_record"),
            item("function_call_output", call_id="c1", output="a.txt"),
            item("custom_tool_call_output", call_id="c2", output='{"output": "Done!", "metadata": {"exit_code": 0}}'),
            item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["pwd"]}),
            item("function_call_output", call_id="c3", output=[{"type": "input_text", "text": "/work"}]),
            message("assistant", "It is done."), line("compacted", message="A summary."),
        ])  # fmt: skip
        replies = [("assistant", "I look now."), ("assistant", ""), ("assistant", "It is done.")]
        assert said(row) == [("user", "Make a file."), *replies]
        assert calls(row) == [
            ("exec_command", '{"cmd": "ls"}', "a.txt"), ("apply_patch", '{"input": "*** Begin Patch"}', "Done!"),
            ("shell", '{"command": ["pwd"]}', "/work"),
        ]  # fmt: skip
        assert set(row.messages.filter(role="assistant").values_list("model", flat=True)) == {"gpt-5-codex"}

    def test_turns_that_were_taken_back_are_left_out(self, ada: User) -> None:
        turns = [one for word in "abc" for one in (message("user", word), message("assistant", word.upper()))]
        (row,) = taken(ada, [META, *turns, event("thread_rolled_back", num_turns=2), message("user", "d")])
        assert [content for _, content in said(row)] == ["a", "A", "d"]

    def test_sessions_of_older_versions_come_in(self, ada: User) -> None:
        head = {"id": "s1", "timestamp": "2025-08-01T09:00:00Z", "instructions": None, "git": {}}
        words = [
            {"type": "message", "role": role, "content": [{"type": "text", "text": role}]}
            for role in ("user", "assistant")
        ]
        (row,) = taken(ada, [head, {"record_type": "state"}, *words])
        assert said(row) == [("user", "user"), ("assistant", "assistant")]

    def test_a_longer_file_of_a_session_brings_its_new_messages_only(self, ada: User) -> None:
        lines = [META, MODEL, message("user", "One?"), message("assistant", "1."), message("user", "Two?")]
        (row,) = taken(ada, lines[:4])
        assert [(one.pk, new) for one, new in taken(ada, lines).updated] == [(row.pk, 1)]
        assert len(said(row)) == 3


def test_sessions_and_other_conversations_of_a_file_stay_apart(ada: User) -> None:
    head = {"id": "old", "timestamp": "2025-08-01T09:00:00Z", "instructions": None}
    old = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old."}]}
    whole = {"title": "-", "messages": [{"role": "user", "content": "Whole."}]}
    rows = taken(ada, [*chained(user("Claude.")), whole, META, message("user", "Codex."), head, old])
    assert [said(row) for row in rows] == [[("user", words)] for words in ("Claude.", "Whole.", "Codex.", "Old.")]


CLAUDE_LINES = chained(
    user([text("Hi."), result("t0", [text("x")])]), reply("m1", text("I look."), use("t1", command="ls")),
    user([result("t1", "a.py")]), {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u2"},
)  # fmt: skip
CODEX_LINES = [
    META, MODEL, message("user", "Hi."), item("function_call", name="ls", arguments="{}", call_id="c1"),
    item("function_call_output", call_id="c1", output={"content": "a"}), event("thread_rolled_back", num_turns=1),
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


@pytest.mark.parametrize("lines", [CLAUDE_LINES, CODEX_LINES], ids=["claude code", "codex"])
def test_odd_values_at_any_place_keep_nothing_else_out(lines: list[Json]) -> None:
    module_lines, read = (LINES, read_conversation) if lines is CLAUDE_LINES else (codex.LINES, codex.read_conversation)
    for path in places(lines)[1:]:
        for odd in ODD if len(path) > 1 else [{}, {"type": "user"}, {"message": {}}, {"payload": []}]:
            changed = deepcopy(lines)
            at: Any = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd
            read({module_lines: changed}, Images())


def claude_code_of(number: int) -> Json:
    return {LINES: chained(*(one for at in range(number) for one in (user("Hi."), reply(f"m{at}", text("Hello.")))))}


def commands_of(number: int) -> Json:
    return {LINES: chained(user("<command-name>/x</command-name>" + "<command-args>" * number))}


def codex_of(number: int) -> Json:
    return {codex.LINES: [META, *[message("user", "Hi."), message("assistant", "Hello.")] * number]}


@pytest.mark.parametrize(
    ("read", "make"),
    [(read_conversation, claude_code_of), (read_conversation, commands_of), (codex.read_conversation, codex_of)],
    ids=["claude code", "commands", "codex"],
)
def test_the_time_grows_with_the_lines(read: Any, make: Any) -> None:
    measured = growth(lambda data: read(data, Images()), make, largest=10_000)
    assert measured.is_linear, measured
