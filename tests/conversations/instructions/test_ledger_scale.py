"""A ledger of thousands of entries: what a request has of it is bounded, and work grows with the entries alone."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compression.ids import uuid7
from conversations.instructions import ledger, ledger_entries
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.turns import forks

pytestmark = [pytest.mark.once, pytest.mark.django_db]
FEW, MANY = 200, 800


def with_preferences(user: User, model: ModelProfile, count: int) -> Conversation:
    """A conversation whose person typed so many preferences, in messages of fifty."""
    conversation = Conversation.objects.create(owner=user, model=model)
    for start in range(0, count, 50):
        message = Message(pk=uuid7(), conversation=conversation, role="user", content="x", created_at=timezone.now())
        message.save()
        typed = " ".join(f"I prefer port {number} for the service." for number in range(start, start + 50))
        ledger.add_entries(message, typed, model.usable_window)
    assert ledger_entries.current(conversation.pk).filter(state="noted").count() == count
    return conversation


def leave_and_come_back(conversation: Conversation) -> None:
    """Take all messages out of the history, and bring them back under their own ids."""
    messages = list(conversation.messages.values_list("pk", flat=True))
    ledger.withdraw(conversation.pk, messages, by=uuid7())
    assert not ledger_entries.current(conversation.pk).exists()
    ledger.restore_entries(conversation.pk, {str(pk): str(pk) for pk in messages})


def fork(conversation: Conversation) -> None:
    forks.fork(conversation, conversation.messages.latest("created_at").pk)


def calls(act: Callable[[Conversation], None], conversation: Conversation) -> int:
    """The function calls that an act makes, which are as many on a busy machine as on an idle one."""
    profile = cProfile.Profile()
    profile.runcall(act, conversation)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.long
@pytest.mark.parametrize("act", [fork, leave_and_come_back])
def test_work_grows_no_faster_than_a_ledger(
    user: User, profile: ModelProfile, act: Callable[[Conversation], None]
) -> None:
    few, many = (calls(act, with_preferences(user, profile, count)) for count in (FEW, MANY))
    assert many < 1.25 * MANY / FEW * few, f"{few:,} calls for {FEW:,} entries, {many:,} for {MANY:,}"


def test_a_message_takes_as_many_queries_whatever_the_ledger_has(user: User, profile: ModelProfile) -> None:
    def queries(count: int) -> int:
        conversation = with_preferences(user, profile, count)
        message = conversation.messages.latest("created_at")
        with CaptureQueriesContext(connection) as made:
            ledger.add_entries(message, "I prefer ports above 8000.", profile.usable_window)
        return len(made)

    assert queries(MANY) == queries(50) <= 8


def test_what_requests_read_of_thousands_of_entries_is_bounded(user: User, profile: ModelProfile) -> None:
    conversation = with_preferences(user, profile, MANY)
    conversation.refresh_from_db()
    assert len(conversation.noted) < ledger_entries.MAX_NOTED_TEXTS + ledger_entries.NOTED_TEXTS_STEP
    assert conversation.rules == []
