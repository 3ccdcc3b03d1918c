from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any
from zipfile import ZipFile

import pytest

from conversations.errors import Invalid
from conversations.exchange.imports import Imported, import_conversations
from conversations.models import Conversation, LedgerEntry, ToolCall, User
from tests.conversations.exports import claude, wrote

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ROOT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def taken(user: User, *conversations: dict[str, Any]) -> Imported:
    return import_conversations(user, json.dumps(list(conversations)).encode())


def one(user: User, *messages: dict[str, Any], **more: Any) -> Conversation:
    Conversation.objects.update(imported_from="")  # each of a test is another one
    (row,) = taken(user, claude(*messages, **more))
    return row


def said(row: Conversation) -> list[tuple[str, str]]:
    return list(row.messages.order_by("created_at").values_list("role", "content"))


def use(id: str | None, name: str = "search", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(id: str | None, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "name": "search", "content": content}


def calls() -> list[tuple[str, str, str | None]]:
    return list(ToolCall.objects.order_by("pk").values_list("name", "arguments", "result"))


def test_a_conversation_comes_in_with_its_title_and_dates(ada: User) -> None:
    row = one(ada, wrote("1", "human", "Which port?"), wrote("2", "assistant", "5433.", "It is the second."))
    assert (row.owner_id, row.title) == (ada.pk, "Ports")
    assert (row.created_at, row.updated_at) == (
        datetime(2025, 1, 6, 9, tzinfo=UTC),
        datetime(2025, 1, 6, 10, tzinfo=UTC),
    )
    assert said(row) == [("user", "Which port?"), ("assistant", "5433.\n\nIt is the second.")]


def test_a_project_becomes_a_chat_with_its_documents_and_proposed_instructions(ada: User) -> None:
    date = "2025-01-06T09:00:00.000000Z"
    docs = [
        {"filename": "ports.md", "content": "billing is 5433", "created_at": date},
        {"filename": None, "content": "x" * 200_001},
    ]
    project = {"uuid": "p1", "name": "Ports", "description": "All ports.", "is_private": True, "creator": {"uuid": "x"},
               "prompt_template": "Be exact.", "created_at": date, "updated_at": date, "docs": docs}  # fmt: skip
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        archive.writestr("conversations.json", json.dumps([claude(wrote("1", "human", "Which port?"))]))
        archive.writestr("projects.json", json.dumps([project]))
        archive.writestr("users.json", "[]")
    chat, row = import_conversations(ada, made.getvalue())
    assert said(chat) == [("user", "Which port?")]
    assert (row.title, row.system_prompt, row.proposed_system_prompt) == ("Ports", "", "Be exact.")
    contents = [content for _, content in said(row)]
    assert contents[:2] == ["All ports.", "[File: ports.md]\n\nbilling is 5433"] and contents[2].endswith(
        "characters in all]"
    )
    assert not LedgerEntry.objects.exists()
    assert import_conversations(ada, made.getvalue()).unchanged == 2


def test_an_old_message_without_blocks_has_its_text(ada: User) -> None:
    old = wrote("1", "human") | {"text": "hello"}
    del old["content"]
    assert said(one(ada, old)) == [("user", "hello")]


def test_the_branch_that_was_written_last_is_taken(ada: User) -> None:
    def at(minute: int) -> dict[str, str]:
        return {"created_at": f"2025-01-06T09:{minute:02}:00Z"}

    messages = [
        wrote("q", "human", "asked", parent_message_uuid=ROOT, **at(0)),
        wrote("a1", "assistant", "first answer", parent_message_uuid="q", **at(1)),
        wrote("a2", "assistant", "second answer", parent_message_uuid="q", **at(2)),
        wrote("more", "human", "go on", parent_message_uuid="a1", **at(3)),
        wrote("other", "human", "asked otherwise", parent_message_uuid=ROOT, **at(2)),
    ]
    assert said(one(ada, *messages)) == [("user", "asked"), ("assistant", "first answer"), ("user", "go on")]
    chosen = one(ada, *messages, current_leaf_message_uuid="a2")
    assert said(chosen) == [("user", "asked"), ("assistant", "second answer")]
    assert said(one(ada, *reversed(messages))) == said(one(ada, *messages)), "whatever order they stand in"


def test_tools_that_were_used_are_calls_with_results_in_their_places(ada: User) -> None:
    row = one(
        ada,
        wrote("1", "human", "look"),
        wrote(
            "2",
            "assistant",
            {"type": "thinking", "thinking": "secret"},
            "I look.",
            use("t1", q="ports"),
            result("t1", [{"type": "text", "text": "5433"}, {"type": "knowledge", "title": "A", "url": "https://a.b"}]),
            "And again.",
            use("t2", "read", path="a"),
            use("t3", "read", path="b"),
            result("t3", "three"),
            result("t2", [{"type": "image", "file_uuid": "pic"}]),
            "Done.",
            {"type": "token_budget"},
        ),
    )
    assert said(row) == [
        ("user", "look"),
        ("assistant", "I look."),
        ("assistant", "And again."),
        ("assistant", "Done."),
    ]
    assert calls() == [
        ("search", '{"q": "ports"}', "5433\n\nA\nhttps://a.b"),
        ("read", '{"path": "a"}', "[Image: pic]"),
        ("read", '{"path": "b"}', "three"),
    ]
    assert "secret" not in json.dumps(said(row))


def test_results_without_ids_go_to_the_first_open_call(ada: User) -> None:
    one(ada, wrote("1", "assistant", use(None, q=1), result(None, "one"), use(None, q=2), result(None, "two")))
    assert [answer for _, _, answer in calls()] == ["one", "two"]
    assert ToolCall.objects.values_list("call_id", flat=True).distinct().count() == 2


def test_results_without_calls_are_text_and_calls_without_results_stay_open(ada: User) -> None:
    row = one(
        ada, wrote("1", "assistant", "a", result("gone", "found"), "b", use("t1"), use("t1"), result("t1", "late"))
    )
    assert said(row) == [("assistant", "a"), ("tool", "found"), ("assistant", "b")]
    assert [answer for _, _, answer in calls()] == [None, "late"], "an id that is used again is the latest call's"


def test_attached_text_is_taken_in_and_files_are_named(ada: User) -> None:
    message = wrote(
        "1",
        "human",
        "Look at these.",
        attachments=[
            {"file_name": "ports.txt", "file_type": "text/plain", "extracted_content": "5433\n5434"},
            {"file_name": "", "extracted_content": "pasted words"},
            {"file_name": "empty.bin"},
        ],
        files=[{"file_name": "map.PNG"}, {"file_name": "deck.pdf"}, {"file_name": "x", "file_kind": "image"}, {}],
    )
    assert said(one(ada, message)) == [
        (
            "user",
            "Look at these.\n\n[File: ports.txt]\n5433\n5434\n\n[File: pasted text]\npasted words\n\n[File: empty.bin]"
            "\n\n[Image: map.PNG]\n\n[File: deck.pdf]\n\n[Image: x]\n\n[File: without a name]",
        )
    ]


def test_attached_text_is_cut_where_a_message_has_no_more_room(ada: User) -> None:
    files = [{"file_name": f"{n}.txt", "extracted_content": "x" * 150_000} for n in range(3)]
    ((_, content),) = said(one(ada, wrote("1", "human", "y" * 40_000, attachments=files)))
    assert len(content) <= 200_000
    assert content.count("cut: 150,000 characters in all") == 2


def test_empty_messages_are_left_out_and_empty_conversations_are_counted(ada: User) -> None:
    empty = claude(wrote("1", "human", ""), wrote("2", "assistant", {"type": "thinking", "thinking": "…"}), uuid="e")
    imported = taken(ada, empty, claude(uuid="f"), claude(wrote("1", "human", "hi", " ")))
    assert imported.skipped == 2
    assert [said(row) for row in imported] == [[("user", "hi")]]


def test_both_sites_and_our_own_forms_may_stand_in_one_list(ada: User) -> None:
    imported = taken(ada, claude(wrote("1", "human", "hi")), {"messages": [{"role": "user", "content": "ho"}]})
    assert [said(row) for row in imported] == [[("user", "hi")], [("user", "ho")]]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"chat_messages": {}}, "[0].chat_messages: must be a list"),
        ({"chat_messages": [5]}, "[0].chat_messages[0]: must be an object"),
        (
            claude(wrote("1", "human", "a", parent_message_uuid="1")),
            "[0].chat_messages: the parents go round",
        ),
        (
            claude(
                wrote("1", "human", "a", parent_message_uuid="2"),
                wrote("2", "human", "b", parent_message_uuid="1"),
                current_leaf_message_uuid="2",
            ),
            "[0].chat_messages: the parents of '2' go round in a circle",
        ),
        (claude(wrote("1", "human", content={"a": 1})), "[0].chat_messages[0].content: must be a list"),
        (claude(wrote("1", "human", content=["text"])), "[0].chat_messages[0].content[0]: must be an object"),
        (claude(wrote("1", "human", "x" * 200_001)), "[0].chat_messages[0]: at most 200,000"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(ada: User, data: dict[str, Any], place: str) -> None:
    with pytest.raises(Invalid) as refused:
        taken(ada, data)
    assert place in refused.value.message
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([wrote("1", "human", "a"), wrote("1", "assistant", "b")], [("user", "a"), ("assistant", "b")]),
        ([wrote("1", "human", "a"), wrote("2", "bot", "b")], [("user", "a"), ("assistant", "[bot] b")]),
        ([wrote("1", "human", "a", created_at="soon", parent_message_uuid=7)], [("user", "a")]),
        ([wrote("1", "human", content="text")], [("user", "text")]),
        ([wrote("1", "human", content=[None, {"type": "text", "text": "a"}])], [("user", "a")]),
        ([{"sender": "human", "text": "a"}, wrote("2", "assistant", "b")], [("user", "a"), ("assistant", "b")]),
    ],
)
def test_oddities_of_real_exports_come_in(
    ada: User, messages: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    row = one(ada, *messages, updated_at=5, is_starred=True)
    assert said(row) == expected
    assert row.pinned


def test_a_tool_without_a_name_and_one_with_a_long_name(ada: User) -> None:
    one(ada, wrote("1", "human", "a"), wrote("2", "assistant", use("t", ""), use("u", "x" * 201)))
    assert [name for name, *_ in calls()] == ["tool", "x" * 200]


def test_sources_of_a_reply_and_of_a_search_are_named(ada: User) -> None:
    cited = {"type": "text", "text": "Old.", "citations": [
        {"title": "Iron", "url": "https://e.org/iron"}, {"details": {"url": "https://e.org/ore"}}, {"url": "x"}, 3,
    ]}  # fmt: skip
    found = [{"type": "rich_link", "link": {"title": "Ore", "url": "https://e.org/ore"}},
             {"type": "local_resource", "name": "ports.md", "file_path": "/tmp/ports.md"}]  # fmt: skip
    row = one(ada, wrote("1", "human", "a"), wrote("2", "assistant", use("t"), result("t", found), cited))
    assert said(row)[-1][1] == "Old. ([Iron](https://e.org/iron), [https://e.org/ore](https://e.org/ore))"
    assert calls()[0][2] == "Ore\nhttps://e.org/ore\n\n[File: ports.md]"
