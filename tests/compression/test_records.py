from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from compression.core.extractive.summariser import Extractive
from compression.core.plan.policy import STRATEGIES, Policy, Strategy
from compression.core.truncation import Truncation
from compression.core.values import Checkpoint as Value
from compression.core.values import Draft, Transcript, Window
from compression.models import Checkpoint, Compaction
from compression.records import active_checkpoints, store_checkpoints
from tests.core.test_pipeline import Scripted
from tests.core.test_strategies import Chat, window

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def owned(db: None) -> Any:
    from django.contrib.auth import get_user_model

    from conversations.models import Conversation

    return Conversation.objects.create(owner=get_user_model().objects.create(username="alice"))


def value(end: int, *, number: int = 0, **more: Any) -> Value:
    id = str(UUID(int=end))
    made = Value(
        number, 3, f"up to {end}", 10, 20, 100, id, id, START + timedelta(minutes=end), "d" * 64, author="small"
    )
    return replace(made, **more)


def store(conversation: Any, *values: Value, model: str = "") -> None:
    row = Compaction.objects.create(conversation=conversation, trigger="manual", status="succeeded")
    draft = Draft(Transcript((), Window(8_000, 1_000)), checkpoints=values)
    store_checkpoints(row, draft, model=model or values[-1].author)


def test_what_is_stored_is_loaded_again(owned: Any) -> None:
    first = value(1, age=2, provisional=True, stragglers=("a", "b"))
    store(owned, first, value(2))
    assert active_checkpoints(owned.pk) == (replace(first, number=1), value(2, number=2))


def test_unchanged_rows_stay_and_replaced_ones_become_inactive(owned: Any) -> None:
    store(owned, value(1, age=2), value(2))
    kept, replaced = Checkpoint.objects.order_by("number")
    stable, _ = active_checkpoints(owned.pk)
    store(owned, stable, value(2, age=1, summary="shorter"), value(3), model="large")
    kept.refresh_from_db()
    replaced.refresh_from_db()
    assert (kept.active, replaced.active) == (True, False)
    rows = Checkpoint.objects.filter(active=True).order_by("number")
    assert [(row.number, row.summary, row.model) for row in rows] == [
        (1, "up to 1", "small"),
        (3, "shorter", "small"),
        (4, "up to 3", "large"),
    ]


def test_active_checkpoints_are_ordered_by_what_they_cover_not_by_number(owned: Any) -> None:
    store(owned, value(1), value(2), value(3, age=2), value(4))
    *_, third, _ = active_checkpoints(owned.pk)
    store(owned, value(2, summary="both"), third, value(4, age=1), value(5))
    assert [one.number for one in active_checkpoints(owned.pk)] == [5, 3, 6, 7]
    assert [row.number for row in owned.checkpoints.filter(active=True)] == [5, 3, 6, 7]


def test_another_conversations_checkpoints_are_left_alone(owned: Any) -> None:
    other = type(owned).objects.create(owner=owned.owner)
    store(other, value(1))
    store(owned, value(1))
    store(owned, value(2))
    assert [one.number for one in active_checkpoints(other.pk)] == [1]


def test_a_row_from_before_summaries_aged_was_born_as_it_is(owned: Any) -> None:
    store(owned, value(1))
    Checkpoint.objects.update(birth_tokens=0, token_count=77)
    assert active_checkpoints(owned.pk)[0].birth_tokens == 77


@dataclass
class Stored(Chat):
    """The same conversation, its checkpoints in the database."""

    owned: Any = field(default=None)

    def say(self, messages: int, **how: Any) -> None:
        super().say(messages, **how)
        self.history = tuple(
            replace(one, id=str(UUID(int=number)) if one.id == str(number) else one.id)
            for number, one in enumerate(self.history)
        )

    def store(self, draft: Draft) -> None:
        super().store(draft)
        store(self.owned, *draft.checkpoints)
        assert active_checkpoints(self.owned.pk) == self.checkpoints
        self.checkpoints = active_checkpoints(self.owned.pk)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_chain_of_compactions_is_the_same_in_the_database(owned: Any, strategy: Strategy) -> None:
    chat = Stored(Policy(strategy=strategy), window(4_000), owned=owned)
    for step in range(24):
        chat.say(12)
        summariser = (Extractive(), Scripted(), Truncation())[step % 3]
        chat.compact(summariser, rebuilding=not summariser.provisional)
    numbers = list(Checkpoint.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
