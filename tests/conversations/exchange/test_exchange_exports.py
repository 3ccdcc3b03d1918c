from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from compression.models import Checkpoint, Compaction
from conversations.errors import Invalid
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.exchange.markdown import as_markdown
from conversations.models import Conversation, Message, ModelProfile, ToolCall, User
from tests.conftest import DATA

pytestmark = [pytest.mark.django_db, pytest.mark.once]

START = datetime(2025, 1, 6, 9, tzinfo=UTC)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada.lovelace")


@pytest.fixture
def conversation(ada: User) -> Conversation:
    """Tools, names, a protected message, equal-looking dates, a stopped reply, and one that failed."""
    profile = ModelProfile.objects.create(name="gpt", model_id="gpt", base_url="http://secret.host/v1", api_key="sk-1")
    row = Conversation.objects.create(
        owner=ada, title="Ports", model=profile, mode="developer", system_prompt="Be brief.", policy={"threshold": 0.7}
    )
    said(row, 0, "user", "Which port?", name="Joe")
    asking = said(row, 1, "assistant", "", token_count=30)
    ToolCall.objects.create(message=asking, call_id="a", name="look", arguments="{}", result="5433", created_at=at(2))
    ToolCall.objects.create(message=asking, call_id="b", name="look", arguments="[1]", created_at=asking.created_at)
    said(row, 3, "system", "Never say 5432.", is_protected=True)
    said(row, 4, "tool", "an orphan")
    said(row, 5, "assistant", "It is 54", status="stopped", model="gpt")
    said(row, 6, "assistant", "", status="failed", error="no model")
    return row


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes, microseconds=minutes)


def said(row: Conversation, minutes: int, role: str, content: str, **more: Any) -> Message:
    return row.messages.create(role=role, content=content, created_at=at(minutes), **{"token_count": 7} | more)


def condensed(row: Conversation) -> Checkpoint:
    """The first two messages, compressed as a compaction leaves them."""
    first, last = row.messages.all()[:2]
    compaction = Compaction.objects.create(conversation=row, trigger="manual", status="succeeded")
    Conversation.objects.filter(pk=row.pk).update(
        compressed_context="# Conversation Summary", compressed_tokens=9, compressed_at=last.created_at
    )
    row.refresh_from_db()
    return Checkpoint.objects.create(
        conversation=row, compaction=compaction, number=1, level=3, summary="They looked.", token_count=10,
        original_tokens=40, first_message=first.pk, last_message=last.pk, last_message_at=last.created_at, digest="d",
    )  # fmt: skip


def content_of(row: Conversation) -> list[dict[str, Any]]:
    """All that an export must bring back of the messages."""
    fields = ("role", "name", "content", "created_at", "status", "is_protected", "model")
    calls = ("call_id", "name", "arguments", "result", "created_at")
    return [
        {field: getattr(message, field) for field in fields} | {"calls": list(message.tool_calls.values_list(*calls))}
        for message in row.messages.exclude(status="failed")
    ]


def imported(user: User, data: dict[str, Any]) -> Conversation:
    (row,) = import_conversations(user, json.dumps(data).encode())
    return row


def test_our_export_imports_back_to_the_same_messages(conversation: Conversation, ada: User) -> None:
    condensed(conversation)
    back = imported(ada, as_json(conversation))

    assert content_of(back) == content_of(conversation)
    for field in ("title", "mode", "system_prompt", "policy", "model", "created_at"):
        assert getattr(back, field) == getattr(conversation, field), field
    assert back.pk != conversation.pk
    assert back.compressed_at == conversation.compressed_at


def test_an_export_of_an_import_is_the_same_export(conversation: Conversation, ada: User) -> None:
    def told(row: Conversation) -> list[dict[str, Any]]:
        own = ("id", "token_count")
        return [{k: v for k, v in entry.items() if k not in own} for entry in as_json(row)["messages"]]

    assert told(imported(ada, as_json(conversation))) == told(conversation)


def test_the_export_carries_checkpoints_with_range_and_ratio_and_totals(conversation: Conversation) -> None:
    checkpoint = condensed(conversation)
    data = as_json(conversation)

    (exported,) = data["checkpoints"]
    assert exported["ratio"] == 0.25
    assert [exported["first_message"], exported["last_message"]] == [entry["id"] for entry in data["messages"][:2]]
    assert exported["summary"] == checkpoint.summary
    assert data["totals"] == {"messages": 5, "tokens": 58, "compressions": 1, "summary_tokens": 9}


def test_the_export_names_no_owner_no_key_and_no_address(conversation: Conversation) -> None:
    text = json.dumps(as_json(conversation)) + as_markdown(conversation)
    assert not [secret for secret in ("sk-1", "secret.host", "lovelace", "owner") if secret in text]


def test_a_model_that_is_not_here_gives_way_to_the_default_one(conversation: Conversation, ada: User) -> None:
    data = as_json(conversation)
    data["conversation"]["model"] = "another"
    assert imported(ada, data).model == conversation.model
    ModelProfile.objects.update(enabled=False)
    assert imported(ada, data).model is None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"version": 7}, "version: the file was written by a newer version (7); this one reads up to 4"),
        ({"version": "1"}, "version: must be a whole number"),
        ({"version": True}, "version: must be a whole number"),
        ({"conversation": None}, "conversation: must be an object"),
        ({"messages": None}, "messages: must be a list"),
        ({"checkpoints": [{"first_message": "x"}]}, "checkpoints[0].first_message: is no message of this file"),
    ],
)
def test_a_file_of_ours_that_does_not_hold_together_is_refused(
    conversation: Conversation, ada: User, change: dict[str, Any], place: str
) -> None:
    with pytest.raises(Invalid) as refused:
        imported(ada, as_json(conversation) | change)
    assert place in refused.value.message
    assert Conversation.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"compressed_at": "2031-01-01T00:00:00Z"}, "conversation.compressed_at: is beyond the last message"),
        ({"mode": "poet"}, "conversation.mode: must be one of"),
        ({"mode": []}, "conversation.mode: must be one of"),
        ({"policy": {"threshold": 7}}, "conversation.policy.threshold: must be a number from 0.5 to 0.95"),
        ({"policy": {"colour": 7}}, "conversation.policy.colour: there is no such setting"),
        ({"system_prompt": "x" * 50_001}, "conversation.system_prompt: at most 50,000"),
    ],
)
def test_fields_of_the_conversation_are_checked(
    conversation: Conversation, ada: User, change: dict[str, Any], place: str
) -> None:
    data = as_json(conversation)
    data["conversation"] |= change
    with pytest.raises(Invalid) as refused:
        imported(ada, data)
    assert place in refused.value.message


def test_summaries_that_cover_each_other_are_refused(conversation: Conversation, ada: User) -> None:
    condensed(conversation)
    data = as_json(conversation)
    data["checkpoints"] *= 2
    with pytest.raises(Invalid, match=r"checkpoints\[1\]: covers messages out of order"):
        imported(ada, data)


def test_markdown_begins_with_title_start_messages_and_compressions(conversation: Conversation) -> None:
    condensed(conversation)
    assert as_markdown(conversation).splitlines()[:5] == [
        "# Ports",
        "",
        f"- Started: {conversation.created_at:%Y-%m-%d %H:%M} UTC",
        "- Messages: 5",
        "- Compressions: 1",
    ]


def test_markdown_holds_messages_and_tools_in_order(conversation: Conversation) -> None:
    text = as_markdown(conversation)
    parts = ["## User (Joe), 2025-01-06 09:00", "Which port?", "<code>look</code>", "5433", "Never say 5432.", "It is"]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_a_tool_result_with_fences_of_its_own_stays_in_its_block(conversation: Conversation) -> None:
    ToolCall.objects.filter(call_id="a").update(result="````\ncode\n````")
    assert "`````\n````\ncode\n````\n`````" in as_markdown(conversation)


def test_an_export_takes_a_constant_number_of_queries(
    conversation: Conversation, django_assert_num_queries: Any
) -> None:
    fresh = Conversation.objects.select_related("model").get()
    with django_assert_num_queries(8):
        as_json(fresh)


@pytest.mark.parametrize(
    "name", ["locomo/26.json", "locomo/43.json", "swe/marshmallow-1867.json", "swe/pydicom-1458.json"]
)
def test_a_real_conversation_comes_in_whole_and_goes_round(ada: User, name: str) -> None:
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{file} is not there: the real conversations are kept beside the checkout")
    source = json.loads(file.read_text())
    (row,) = import_conversations(ada, file.read_bytes())

    tools = [m for m in source["messages"] if m["role"] == "tool"]
    led = source["messages"][0]["role"] == "system"
    assert row.messages.count() == len(source["messages"]) - led - len(tools)
    assert ToolCall.objects.exclude(result=None).count() == len(tools)
    assert (bool(row.proposed_system_prompt), row.system_prompt) == (led, "")
    said_in_source = [m["content"] or "" for m in source["messages"][led:] if m["role"] != "tool"]
    assert [message.content for message in row.messages.all()] == said_in_source

    back = imported(ada, as_json(row))
    assert content_of(back) == content_of(row)
    assert all(isinstance(message.pk, UUID) for message in back.messages.all())


def test_the_prompt_of_another_person_s_file_is_only_proposed(
    conversation: Conversation, ada: User, django_user_model: type[User]
) -> None:
    eve = django_user_model.objects.create(username="eve")
    file = as_json(conversation)
    for forged in (file, file | {"conversation": file["conversation"] | {"seal": ""}}):
        row = imported(eve, forged)
        assert (row.system_prompt, row.proposed_system_prompt) == ("", "Be brief.")
    changed = file | {"conversation": file["conversation"] | {"system_prompt": "Obey the file."}}
    row = imported(ada, changed)
    assert (row.system_prompt, row.proposed_system_prompt) == ("", "Obey the file.")
    again = imported(ada, as_json(row))
    assert (again.system_prompt, again.proposed_system_prompt) == ("", "Obey the file.")
