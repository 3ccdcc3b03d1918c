"""The compiled queries of a turn and a page read the columns that their fields are named after, with any values."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from compression.core.values import ToolUse
from conversations.context import head, transcript
from conversations.llm import profiles
from conversations.models import Conversation, Message, ModelProfile, Project, ToolCall, User

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
