"""The entries of a ledger: which hold, which a later one supersedes, and the texts of them that requests contain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from compression.core.ledger.find import entry_of
from compression.core.ledger.values import DetectedEntry
from conversations.models import Conversation, LedgerEntry
from conversations.requests import usage

State = LedgerEntry.State
MAX_NOTED_TEXTS, NOTED_TEXTS_STEP = 64, 32
"""The column `noted` of a conversation has fewer texts than the sum of both. At the sum the oldest leave it, a step at
a time, so that requests begin alike in between."""
MAX_TAKEN_BACK = 100
"""The most rules that no longer hold which a summary is checked for."""
TICK = timedelta(microseconds=1)


def current(conversation_id: UUID) -> QuerySet[LedgerEntry]:
    """The entries whose messages are part of the history, and those added by hand."""
    return LedgerEntry.objects.filter(conversation_id=conversation_id, is_withdrawn=False)


def in_force(conversation_id: UUID) -> QuerySet[LedgerEntry]:
    """The entries in force, in the order of their decisions."""
    return current(conversation_id).filter(state=State.IN_FORCE).order_by("decided_at", "pk")


def taken_back(conversation_id: UUID) -> tuple[str, ...]:
    """The sentences of the latest rules that no longer hold, and that are not in force in the same words."""
    rules = current(conversation_id).filter(kind=LedgerEntry.Kind.RULE)
    gone = rules.filter(state__in=(State.SUPERSEDED, State.DISMISSED)).order_by("-decided_at")[:MAX_TAKEN_BACK]
    standing = set(_texts_in_force(conversation_id))
    return tuple(dict.fromkeys(entry.text for entry in gone if entry.text not in standing))


def new_entry(
    conversation_id: UUID, detected: DetectedEntry, *, said_at: datetime, message: UUID | None
) -> LedgerEntry:
    """The entry, unsaved: in force if it is sure, else noted. `message` is null for one that was added by hand."""
    state = State.IN_FORCE if detected.is_sure else State.NOTED
    return LedgerEntry(
        conversation_id=conversation_id,
        kind=detected.kind,
        text=detected.text,
        state=state,
        chosen_state=state,
        topic=detected.topic.name,
        value=detected.topic.value,
        forbids=detected.topic.forbids,
        message=message,
        said_at=said_at,
        decided_at=said_at,
    )


def release_superseded(conversation_id: UUID, entry_ids: Collection[UUID]) -> None:
    """Give the entries that these superseded their chosen states back."""
    released = list(LedgerEntry.objects.filter(conversation_id=conversation_id, superseded_by__in=entry_ids))
    for entry in released:
        entry.supersede(None)
    save_entries(released)
    supersede_earlier(conversation_id, {entry.topic for entry in released})


def supersede_earlier(conversation_id: UUID, topics: Collection[str]) -> None:
    """Mark each entry of these topics, in force or noted, as superseded by the first later one that replaces it."""
    if not topics:
        return
    standing = current(conversation_id).filter(topic__in=topics, state__in=(State.IN_FORCE, State.NOTED))
    by_topic: dict[str, list[LedgerEntry]] = defaultdict(list)
    for row in standing.order_by("decided_at", "pk"):
        by_topic[row.topic].append(row)
    changed = []
    for rows in by_topic.values():
        for number, row in enumerate(rows):
            later = next((other for other in islice(rows, number + 1, None) if other.replaces(row)), None)
            if later:
                row.supersede(later)
                changed.append(row)
    save_entries(changed)


def save_entries(entries: Sequence[LedgerEntry]) -> None:
    """Write the columns of stored entries that change."""
    fields = ("state", "chosen_state", "is_chosen", "superseded_by", "asks_about", "message", "said_at", "decided_at")
    kept = ("kept_in", "kept_for", "asks_to_keep")
    LedgerEntry.objects.bulk_update(entries, [*fields, *kept, "is_withdrawn", "history"], batch_size=100)


def add_missing_rules(conversation_id: UUID) -> None:
    """Store an entry for each rule of the conversation that has none: a row may have been stored with rules."""
    rules = Conversation.objects.values_list("rules", flat=True).get(pk=conversation_id)
    _add_rules(conversation_id, rules)


def _add_rules(conversation_id: UUID, rules: Sequence[str]) -> None:
    known = LedgerEntry.objects.filter(conversation_id=conversation_id, text__in=rules) if rules else ()
    texts = {entry.text for entry in known}
    begin = timezone.now() - timedelta(seconds=1)
    made = [
        new_entry(conversation_id, entry_of(rule), said_at=begin + number * TICK, message=None)
        for number, rule in enumerate(rules)
        if rule not in texts
    ]
    for entry in made:
        entry.note(by="person")
    LedgerEntry.objects.bulk_create(made)


def write_columns(conversation_id: UUID) -> None:
    """Write the texts that requests contain to the conversation's row; call it after a change of its entries."""
    rows = Conversation.objects.filter(pk=conversation_id)
    before, noted_before = rows.values_list("rules", "noted").get()
    rules = _texts_in_force(conversation_id)
    if missing := [rule for rule in before if rule not in rules]:
        _add_rules(conversation_id, missing)
        rules = _texts_in_force(conversation_id)
    entries = current(conversation_id).filter(state=State.NOTED)
    surplus = max(0, entries.count() - MAX_NOTED_TEXTS) // NOTED_TEXTS_STEP * NOTED_TEXTS_STEP
    noted = [
        [said_at.isoformat(), text]
        for said_at, text in entries.order_by("said_at", "pk").values_list("said_at", "text")[surplus:]
    ]
    if (rules, noted) != (before, noted_before):
        rows.update(rules=rules, noted=noted)
        transaction.on_commit(partial(usage.publish_usage, conversation_id))


def _texts_in_force(conversation_id: UUID) -> list[str]:
    return list(dict.fromkeys(in_force(conversation_id).values_list("text", flat=True)))
