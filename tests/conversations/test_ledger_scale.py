"""A ledger of thousands of entries: what a request has of it is bounded, and time grows with the entries alone."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from compression.ids import uuid7
from conversations.context import ledger, ledger_entries
from conversations.models import Conversation, Message, ModelProfile
from conversations.turns import forks

pytestmark = [pytest.mark.once, pytest.mark.django_db]
FEW, MANY = 500, 4_000
SLACK = 1.75
"""Times of a busy machine are noisy; what grows with the square of the entries takes eight times as long as allowed."""


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


def withdrawn(conversation: Conversation) -> None:
    messages = list(conversation.messages.values_list("pk", flat=True))
    ledger.withdraw(conversation.pk, messages, by=uuid7())


def taken_up(conversation: Conversation) -> None:
    ids = {str(pk): str(pk) for pk in conversation.messages.values_list("pk", flat=True)}
    ledger.restore_entries(conversation.pk, ids)


def forked(conversation: Conversation) -> None:
    forks.fork(conversation, conversation.messages.latest("created_at").pk)


def taken_in(conversation: Conversation) -> None:
    message = conversation.messages.latest("created_at")
    ledger.add_entries(message, "I prefer ports above 8000.", conversation.model.usable_window)


def seconds(act: Callable[[Conversation], None], conversation: Conversation) -> float:
    begin = time.process_time()
    act(conversation)
    return time.process_time() - begin


def test_time_grows_no_faster_than_a_ledger(user: User, profile: ModelProfile) -> None:
    few, many = (with_preferences(user, profile, count) for count in (FEW, MANY))
    allowed = SLACK * MANY / FEW
    for act in (forked, withdrawn, taken_up):
        short, long = seconds(act, few), seconds(act, many)
        assert long < allowed * short, f"{act.__name__}: {short:.3f} s for {FEW}, {long:.3f} s for {MANY}"


def test_a_message_takes_as_long_whatever_the_ledger_has(user: User, profile: ModelProfile) -> None:
    few, many = (with_preferences(user, profile, count) for count in (FEW, MANY))
    short, long = (min(seconds(taken_in, row) for _ in range(3)) for row in (few, many))
    assert long < 3 * short + 0.02


def test_what_requests_read_of_thousands_of_entries_is_bounded(user: User, profile: ModelProfile) -> None:
    conversation = with_preferences(user, profile, MANY)
    conversation.refresh_from_db()
    assert len(conversation.noted) < ledger_entries.MAX_NOTED_TEXTS + ledger_entries.NOTED_TEXTS_STEP
    assert conversation.rules == []
