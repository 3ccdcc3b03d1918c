"""The compiled queries of a turn and a page read the columns that their fields are named after, with any values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.http import Http404
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatsite.sessions import SessionStore
from compression.core.values import ToolUse
from compression.models import Compaction
from conversations.access import TO_READ, get_conversation, is_own_chat
from conversations.compaction import lease
from conversations.context import head, transcript
from conversations.llm import profiles
from conversations.messages import history
from conversations.models import (
    AgentRun,
    AgentStep,
    Attachment,
    Conversation,
    Message,
    ModelProfile,
    Paste,
    Project,
    ToolCall,
    User,
)

pytestmark = pytest.mark.django_db

OTHERS = {"goal": "goal_text", "version": "compression_version", "profile_id": "model_id"}
OF_THE_MODEL = {
    "provider": "provider",
    "nominal_window": "window",
    "max_reply_tokens": "max_reply_tokens",
    "is_local": "is_local",
    "correction": "token_correction",
    "sees_images": "sees_images",
    "calls_tools": "calls_tools",
    **{name: name for name in ("price_input", "price_cached", "price_output")},
}


@pytest.fixture
def talk(user: User) -> Conversation:
    """A conversation of which no two columns that a turn reads are equal, but for the flags."""
    model = ModelProfile.objects.create(
        name="m", model_id="m", window=12_345, max_reply_tokens=678, is_local=True, token_correction=1.5,
        sees_images=True,
    )  # fmt: skip
    project = Project.objects.create(owner=user, name="Ports", instructions="Times are UTC.")
    return Conversation.objects.create(
        owner=user, project=project,
        model=model, mode="code", system_prompt="Be short.", policy={"threshold": 0.7}, rules=["Say port."],
        goal_text="Ship it", kind="agent", compressed_context="So far.", compressed_tokens=7, verbatim_ids=["a"],
        elided={"b": 9}, compression_version=4, uses_tools=True, compressed_at=timezone.now(),
    )  # fmt: skip


def test_every_field_of_a_head_is_read_from_its_own_column(talk: Conversation) -> None:
    talk.refresh_from_db()
    read = head.head_of(talk.pk)
    assert tuple(head._columns()) == read._fields[: len(head._columns())]
    for name in head._columns():
        row: Any = talk.model if name in OF_THE_MODEL else talk
        if name not in (
            "project_instructions",
            "recalls_in",
            "project_owner_id",
            "may_have_kept",
            "is_compacting",
            "is_replying",
            "covered_tokens",
        ):
            assert getattr(read, name) == getattr(row, OF_THE_MODEL.get(name) or OTHERS.get(name, name)), name
    assert (read.project_instructions, read.recalls_in) == ("Times are UTC.", talk.project_id)
    assert read.project_owner_id == talk.owner_id
    assert (read.is_compacting, read.is_replying, read.covered_tokens) == (False, False, 0)


def test_an_executor_reads_its_persons_words(talk: Conversation, user: User) -> None:
    own = Conversation.objects.create(owner=user, parent=talk, kind="executor", system_prompt="", policy={}, rules=[])
    read, persons = head.head_of(own.pk), head.head_of(talk.pk)
    assert (read.system_prompt, read.policy, read.rules) == (persons.system_prompt, persons.policy, persons.rules)
    assert read.project_instructions == persons.project_instructions == "Times are UTC."
    assert (read.mode, read.nominal_window, read.window) == (own.mode, None, None)


def test_every_field_of_a_turn_is_read_from_its_own_column(talk: Conversation) -> None:
    Conversation.objects.update(
        compressed_at=None, compressed_context=None, compressed_tokens=0, verbatim_ids=[], elided={}
    )
    image = {"hash": "h" * 64, "name": "a.png", "size": 3}
    row = Message.objects.create(
        conversation=talk, role="assistant", content="Text", name="ada", token_count=5, is_protected=True,
        images=[image], origin={"from": "import", "quoted": [[1, 2]]}, created_at=timezone.now(),
    )  # fmt: skip
    for number in (1, 2):
        ToolCall.objects.create(
            message=row,
            call_id=f"c{number}",
            name="calculate",
            arguments="{}",
            result=f"r{number}",
            status="done",
            created_at=timezone.now(),
        )
    row.refresh_from_db()
    (turn,) = transcript.load(talk.pk).live
    stored = (str(row.pk), row.role, row.content, row.created_at, row.token_count, row.name, row.is_protected)
    assert (turn.id, turn.role, turn.content, turn.created_at, turn.tokens, turn.name, turn.protected) == stored
    assert turn.tools == tuple(ToolUse(f"c{number}", "calculate", "{}", f"r{number}") for number in (1, 2))
    assert [(one.hash, one.name, one.size) for one in turn.images] == [tuple(image.values())]
    assert (turn.origin, turn.quoted) == ("import", ((1, 2),))


def test_a_compiled_query_is_compiled_once_and_has_a_place_for_every_value(talk: Conversation, user: User) -> None:
    other = Conversation.objects.create(owner=user, title="Another")
    assert [head.head_of(row.pk).id for row in (talk, other, talk)] == [talk.pk, other.pk, talk.pk]
    for query in (head.HEAD, transcript.LIVE, profiles._OPEN):
        query.rows(**{name: example for name, (_, example) in query._places.items()})
        compiled = query._compiled
        assert compiled is not None
        assert set(compiled.places.values()) == set(query._places), "an example that the query does not hold"


def columns_of(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_a_conversation_comes_whole_with_its_model_and_project_by_one_query(talk: Conversation, user: User) -> None:
    with CaptureQueriesContext(connection) as ran:
        found = get_conversation(user, talk.pk)
        assert found.model and found.project
    assert len(ran) == 1
    stored = Conversation.objects.get(pk=talk.pk)
    for one, other in ((found, stored), (found.model, stored.model), (found.project, stored.project)):
        assert columns_of(one) == columns_of(other)
    assert (found.get_deferred_fields(), found._state.adding, found._state.db) == (set(), False, "default")
    found.title = "Renamed"
    found.save(update_fields=["title"])
    assert get_conversation(user, talk.pk).title == "Renamed"


def test_a_conversation_without_model_and_project_has_none(user: User) -> None:
    bare = Conversation.objects.create(owner=user)
    found = get_conversation(user, bare.pk)
    assert (found.model_id, found.model, found.project) == (None, None, None)


def test_a_conversation_of_another_person_kind_or_in_the_trash_is_missing(user: User, talk: Conversation) -> None:
    stranger = User.objects.create_user("stranger")
    own = Conversation.objects.create(owner=user, kind="gateway")
    gone = Conversation.objects.create(owner=user, trashed_at=timezone.now())
    assert is_own_chat(user, talk.pk) and get_conversation(user, own.pk, kinds=TO_READ) == own
    for person, row in ((stranger, talk), (user, own), (user, gone)):
        assert not is_own_chat(person, row.pk)
        with pytest.raises(Http404):
            get_conversation(person, row.pk)


def test_a_person_is_found_by_key_and_a_missing_one_is_missing(user: User) -> None:
    assert columns_of(User.objects.get(pk=user.pk)) == columns_of(User.objects.all().get(pk=user.pk))
    assert User.objects.get(pk=user.pk, is_active=True) == user
    with pytest.raises(User.DoesNotExist):
        User.objects.get(pk=user.pk + 1)


def test_a_session_is_read_until_it_expires_or_ends() -> None:
    session = SessionStore()
    session["kept"] = "words"
    session.create()
    key = session.session_key
    assert SessionStore(key)["kept"] == "words"
    session.set_expiry(-1)
    session.save()
    expired, unknown = SessionStore(key), SessionStore("unknown")
    assert (expired.load(), unknown.load()) == ({}, {})
    assert (expired.session_key, unknown.session_key) == (None, None), "a key that is not known is not taken over"


def test_the_active_compaction_is_found_and_an_ended_one_is_not(talk: Conversation) -> None:
    row = Compaction.objects.create(
        conversation=talk, status="running", lease_expires_at=timezone.now() + timedelta(hours=1)
    )
    row.refresh_from_db()
    assert (found := lease.active(talk.pk)) and columns_of(found) == columns_of(row)
    Compaction.objects.update(status="succeeded")
    assert lease.active(talk.pk) is None


def test_messages_since_a_moment_have_the_same_columns_and_parts_as_by_the_orm(talk: Conversation, user: User) -> None:
    at = timezone.now()
    rows = [
        Message.objects.create(
            conversation=talk, role=role, content=f"{number}", thoughts="Hm.", created_at=at + timedelta(seconds=number)
        )
        for number, role in enumerate(("user", "assistant", "user", "assistant"))
    ]
    elsewhere = Conversation.objects.create(owner=user)
    Message.objects.create(conversation=elsewhere, role="user", content="x", created_at=at + timedelta(seconds=2))
    Message.objects.filter(pk=rows[2].pk).update(replaced_by=rows[3])
    own = Conversation.objects.create(owner=user, parent=talk, kind="executor")
    run = AgentRun.objects.create(conversation=talk, thread=own, task="Look.")
    for place, row in enumerate(rows):
        for number in (1, 2):
            call = ToolCall.objects.create(
                message=row, call_id=f"c{number}", name="f", arguments="{}", result="r" * 3_000, created_at=at
            )
            Paste.objects.create(message=row, number=number, start=9 - number, length=1)
            Attachment.objects.create(
                owner=user, conversation=talk, message=row, kind="text", name=f"{number}", media_type="text/plain",
                size=3, data=b"abc", digest="d" * 64,
            )  # fmt: skip
        step = Message.objects.create(conversation=own, role="user", content="Look.", created_at=row.created_at)
        AgentStep.objects.create(run=run, number=place, kind="assignment", call=call, message=step)
    with CaptureQueriesContext(connection) as ran:
        found = history.visible_since(talk.pk, rows[1].created_at)
        parts = parts_of(found)
    assert len(ran) == 5
    orm = history.with_visible_parts(Message.objects.filter(pk__in=[rows[1].pk, rows[3].pk]).order_by("created_at"))
    assert [row.pk for row in found] == [rows[1].pk, rows[3].pk]
    assert parts == parts_of(list(orm))
    assert len(parts) == 2 * (1 + 2 + 2 + 2) + 2


def parts_of(rows: list[Message]) -> list[dict[str, Any]]:
    """The columns of messages, their calls, steps, files and pastes; of deferred ones the names."""
    found: list[Any] = []
    for row in rows:
        found.append(row)
        for call in row.tool_calls.all():
            found += [call, *call.steps.all()]
        found += [*row.attachments.all(), *row.pastes.all()]
    return [
        {name: value for name, value in part.__dict__.items() if not name.startswith("_")}
        | {"deferred": part.get_deferred_fields()}
        for part in found
    ]
