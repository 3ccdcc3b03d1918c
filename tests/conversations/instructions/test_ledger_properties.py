"""The ledger under random messages, edits, versions, choices, compactions, their undo, forks and imports."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compression.core.ledger.find import find_entries
from compression.core.values import Steering
from compression.models import Compaction
from conversations.compaction import compaction, lease, snapshots
from conversations.context import provenance
from conversations.context.transcript import HISTORY, message_tokens
from conversations.errors import Refused
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.instructions import ledger, ledger_entries
from conversations.instructions.conversation_settings import change
from conversations.models import Conversation, LedgerEntry, Message, ModelProfile, User
from conversations.turns import begin, branches, forks, versions

pytestmark = [pytest.mark.once, pytest.mark.django_db]
State = LedgerEntry.State

SAID = [
    "Always answer in French.",
    "Always answer in German.",
    "Never answer in French.",
    "No emojis. I prefer tables over lists.",
    "You can use emojis again.",
    "I prefer short answers.",
    "Keep answers under 100 words. Which port?",
    "Never push to main. Always answer in French.",
    "Always push to main.",
    "Which port has alpha?",
]
ACT = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(SAID)),
    st.tuples(st.just("edit"), st.integers(0, 5), st.sampled_from(SAID)),
    st.tuples(st.just("edit"), st.integers(0, 5), st.just("Which host?")),
    st.tuples(st.just("use"), st.integers(0, 5), st.integers(0, 3)),
    st.tuples(st.just("use"), st.integers(0, 5), st.integers(0, 3)),
    st.tuples(st.just("choose"), st.integers(0, 9), st.sampled_from([str(state) for state in ledger.CHOSEN_STATES])),
    st.tuples(st.just("set"), st.lists(st.sampled_from(["Use UTC", "Always answer in French."]), max_size=2)),
    st.tuples(st.just("fork"), st.integers(0, 5)),
    st.tuples(st.just("fresh")),
    st.tuples(st.just("compact"), st.integers(0, 5)),
    st.tuples(st.just("compact"), st.integers(0, 5)),
    st.tuples(st.just("undo")),
    st.tuples(st.just("import")),
)
ANSWER = "It is fine. " + "The service listens there, as it did before, and nothing else does. " * 20
ANSWER_TOKENS = message_tokens(ANSWER)
EXTRACTIVE = {"summariser": "extractive", "min_messages": 1}


@pytest.mark.long
@given(said=st.lists(st.sampled_from(SAID), min_size=2, max_size=4), acts=st.lists(ACT, min_size=3, max_size=8))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_ledger_holds_whatever_is_done(user: User, profile: ModelProfile, said: list[str], acts: list[Any]) -> None:
    conversation = Conversation.objects.create(owner=user, model=profile, policy=EXTRACTIVE)
    for text in said:
        done(conversation, "say", text)
    for act in acts:
        conversation = done(conversation, *act)
        holds(conversation)


def test_a_withdrawal_that_is_chosen_is_noted(user: User, profile: ModelProfile) -> None:
    conversation = Conversation.objects.create(owner=user, model=profile, policy=EXTRACTIVE)
    for act in (("say", SAID[3]), ("say", SAID[4]), ("choose", 2, "in_force"), ("choose", 2, "dismissed")):
        conversation = done(conversation, *act)
        holds(conversation)


def test_random_acts_include_compactions_that_succeed_and_are_undone(user: User, profile: ModelProfile) -> None:
    conversation = Conversation.objects.create(owner=user, model=profile, policy=EXTRACTIVE)
    for text in SAID[:6]:
        done(conversation, "say", text)
    done(conversation, "compact", 4)
    rows = list(Compaction.objects.values_list("trigger", "status", "error"))
    assert ("manual", "succeeded", "") in rows and conversation.is_compressed, rows
    done(conversation, "undo")
    assert not conversation.is_compressed


def done(conversation: Conversation, act: str, *how: Any) -> Conversation:
    """The conversation to go on with: after a fork, the copy."""
    conversation.refresh_from_db()
    questions = list(conversation.messages.filter(role="user", replaced_by=None).order_by("created_at"))
    if act == "say":
        begin.begin(conversation, content=how[0])
    elif act == "set":
        change(conversation, rules=list(dict.fromkeys(how[0])))
        assert conversation.rules == list(dict.fromkeys(how[0]))
    elif act in ("compact", "undo"):
        before = states(conversation)
        _compact_or_undo(conversation, questions, *how)
        assert states(conversation) == before, "neither a compaction nor its undo changes a state"
    elif act == "import":
        (conversation,) = import_conversations(conversation.owner, json.dumps(exported(conversation)).encode())
        assert not ledger_entries.in_force(conversation.pk).exists(), "an import puts nothing in force"
    elif act == "fresh":
        rules = conversation.rules
        if conversation.is_compressed:
            conversation = forks.fresh(conversation)
            assert conversation.rules == rules
    elif act == "choose":
        entries = list(ledger_entries.current(conversation.pk).order_by("said_at", "pk"))
        if entries:
            chosen_entry = ledger.choose(conversation, entries[how[0] % len(entries)].pk, state=how[1])
            is_withdrawal = chosen_entry.kind == LedgerEntry.Kind.WITHDRAWAL
            # A withdrawal is no order itself: what is chosen takes its rule back, and is noted.
            state = State.NOTED if is_withdrawal and how[1] != State.DISMISSED else how[1]
            assert chosen_entry.chosen_state == state and chosen_entry.is_chosen
            assert state != State.IN_FORCE or chosen_entry.state == State.IN_FORCE
    elif questions:
        chosen = questions[how[0] % len(questions)]
        if act == "edit":
            branches.edit(conversation, chosen.pk, content=how[1])
        elif act == "use":
            edited = [row for row in questions if row.versions]
            for row in edited[how[0] % len(edited) :][:1] if edited else ():
                others = [number for number, pk in versions.numbers(row).items() if pk != row.pk]
                versions.use(conversation, row.pk, number=others[how[1] % len(others)])
        elif act == "fork":
            before = {(row.text, row.kind, row.is_chosen) for row in ledger_entries.current(conversation.pk)}
            conversation = forks.fork(conversation, chosen.pk)
            assert {(row.text, row.kind, row.is_chosen) for row in ledger_entries.current(conversation.pk)} <= before
    conversation.messages.filter(role="assistant").update(status="complete", content=ANSWER, token_count=ANSWER_TOKENS)
    return conversation


def _compact_or_undo(conversation: Conversation, questions: list[Message], place: int | None = None) -> None:
    """Compact up to the question at `place`, or undo the last compaction; where there is nothing to do, do nothing."""
    if place is None:
        with suppress(Refused):
            snapshots.rollback(conversation)
    elif questions:
        steering = Steering(up_to=str(questions[place % len(questions)].pk))
        with suppress(Refused):
            claimed = lease.claim(conversation.pk, trigger="manual", steering=steering)
            async_to_sync(compaction.run)(claimed.pk)
    conversation.refresh_from_db()


def states(conversation: Conversation) -> list[tuple[str, str]]:
    return list(ledger_entries.current(conversation.pk).order_by("pk").values_list("text", "state"))


def exported(conversation: Conversation) -> dict[str, Any]:
    return as_json(Conversation.objects.select_related("model").get(pk=conversation.pk))


def holds(conversation: Conversation) -> None:
    conversation.refresh_from_db()
    rows = {row.pk: row for row in ledger_entries.current(conversation.pk)}
    history = set(Message.objects.filter(HISTORY, conversation=conversation).values_list("pk", flat=True))
    in_force = [row for row in rows.values() if row.state == State.IN_FORCE]
    noted = [row for row in rows.values() if row.state == State.NOTED]
    assert set(conversation.rules) == {row.text for row in in_force}
    assert {text for _, text in conversation.noted} == {row.text for row in noted}
    for row in rows.values():
        assert row.message is None or row.message in history, "its message is part of the history"
        assert (row.state == State.SUPERSEDED) == (row.superseded_by is not None)
        assert row.state in (State.SUPERSEDED, row.chosen_state)
        assert row.superseded_by is None or row.superseded_by in rows, "what superseded it is there"
    typed = list(Message.objects.filter(HISTORY, conversation=conversation, role="user"))
    found = {entry.text for row in typed for entry in find_entries(provenance.typed_text(row.content, row.origin))}
    entered = {row.text for row in rows.values() if row.message}
    assert found <= entered, "each sentence that a person typed is an entry"
    imported = {row.pk for row in typed if row.origin}
    assert {row.text for row in rows.values() if row.message and row.message not in imported} <= found, (
        "and none is more"
    )
