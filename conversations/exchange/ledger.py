"""The ledger in our own export. An import puts nothing in force: a file's entries in force become noted.

No text of a message becomes an entry on import: only the entries and rules that the file lists do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from compression.core.ledger.find import entry_of
from compression.core.ledger.values import MAX_ENTRY_CHARS
from conversations.exchange.document import ImportedEntry, ImportedMessage
from conversations.exchange.fields import (
    fault,
    read_choice,
    read_date,
    read_flag,
    read_list,
    read_number,
    read_object,
    read_text,
)
from conversations.instructions import ledger_entries
from conversations.models import Conversation, LedgerEntry, Message
from conversations.models.ledger_entry import MAX_HISTORY

MAX_LEDGER_ENTRIES = 20_000
"""The most entries of a file's ledger."""
MAX_REASON_CHARS = 40
"""The most characters of a reason (`by`) in an entry's history."""
State = LedgerEntry.State
KINDS, STATES = tuple(LedgerEntry.Kind.values), tuple(State.values)
CHOSEN_STATES = (State.IN_FORCE, State.NOTED, State.DISMISSED)
"""The states without supersession, which a file names by `superseded_by`."""


def entries_json(conversation_id: UUID, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The entries in the order of their messages. `message` is an id, `superseded_by` a place in this list."""
    rows = list(ledger_entries.current(conversation_id).order_by("said_at", "pk"))
    places = {row.pk: place for place, row in enumerate(rows)}
    ids = {message.pk for message in messages}
    return [
        {
            "kind": row.kind,
            "text": row.text,
            "state": row.chosen_state,
            "is_chosen": row.is_chosen,
            "message": str(row.message) if row.message in ids else None,
            "superseded_by": places.get(row.superseded_by) if row.superseded_by else None,
            "said_at": row.said_at.isoformat(),
            "decided_at": row.decided_at.isoformat(),
            "history": row.history,
        }
        for row in rows
    ]


def read_entries(value: object, lines: Sequence[ImportedMessage]) -> tuple[ImportedEntry, ...]:
    """The entries of a file. Raises Invalid, naming the place."""
    rows = read_list("ledger", value, limit=MAX_LEDGER_ENTRIES)
    places = {line.id: place for place, line in enumerate(lines) if line.id}
    return tuple(_read(f"ledger[{number}]", row, places, len(rows)) for number, row in enumerate(rows))


def store_entries(conversation: Conversation, entries: Sequence[ImportedEntry], rules: Sequence[str]) -> None:
    """Store the entries of a file and those of its rules that have none, in the transaction of its messages.

    What is in force in the file is noted here, until its person chooses. What is dismissed or superseded stays so.
    """
    stored = Message.objects.filter(conversation=conversation).order_by("created_at")
    ids = list(stored.values_list("pk", flat=True)) if any(entry.message is not None for entry in entries) else []
    texts = {entry.text for entry in entries}
    rows = [_row(conversation, entry, ids) for entry in entries]
    for row, entry in zip(rows, entries, strict=True):
        if entry.superseded_by is not None:
            row.superseded_by, row.state = rows[entry.superseded_by].pk, State.SUPERSEDED
    rows += [_row(conversation, _rule_entry(rule), ()) for rule in rules if rule not in texts]
    LedgerEntry.objects.bulk_create(rows, 500)
    ledger_entries.write_columns(conversation.pk)
    conversation.refresh_from_db(fields=["rules", "noted"])


def _rule_entry(rule: str) -> ImportedEntry:
    """The entry of a rule in a file without a ledger."""
    now = timezone.now()
    return ImportedEntry("rule", rule, State.IN_FORCE, False, None, None, now, now, [])


def _row(conversation: Conversation, entry: ImportedEntry, ids: Sequence[UUID]) -> LedgerEntry:
    topic = entry_of(entry.text).topic
    was_in_force = entry.state == State.IN_FORCE
    state = State.NOTED if was_in_force else State(entry.state)
    row = LedgerEntry(
        conversation=conversation,
        kind=entry.kind,
        text=entry.text,
        state=state,
        chosen_state=state,
        is_chosen=entry.is_chosen and not was_in_force,
        topic=topic.name,
        value=topic.value,
        forbids=topic.forbids,
        message=None if entry.message is None else ids[entry.message],
        said_at=entry.said_at,
        decided_at=entry.decided_at,
        history=entry.history,
    )
    if was_in_force:
        row.note(by="import")
    return row


def _read(place: str, value: object, places: dict[str, int], count: int) -> ImportedEntry:
    row = read_object(place, value)
    text = " ".join(read_text(f"{place}.text", row.get("text"), limit=MAX_ENTRY_CHARS).split())
    if not text:
        raise fault(f"{place}.text", "must not be empty.")
    said_at = read_date(f"{place}.said_at", row.get("said_at"))
    if said_at is None:
        raise fault(f"{place}.said_at", "must be a date such as 2026-11-21T09:30:00Z.")
    by = row.get("superseded_by")
    return ImportedEntry(
        kind=read_choice(f"{place}.kind", row.get("kind"), KINDS),
        text=text,
        state=read_choice(f"{place}.state", row.get("state"), CHOSEN_STATES),
        is_chosen=read_flag(f"{place}.is_chosen", row.get("is_chosen")),
        message=places.get(read_text(f"{place}.message", row.get("message"), limit=100)),
        superseded_by=None if by is None else read_number(f"{place}.superseded_by", by, high=count - 1),
        said_at=said_at,
        decided_at=read_date(f"{place}.decided_at", row.get("decided_at")) or said_at,
        history=[
            _change(f"{place}.history[{number}]", change)
            for number, change in enumerate(read_list(f"{place}.history", row.get("history", []), limit=MAX_HISTORY))
        ],
    )


def _change(place: str, value: object) -> dict[str, str]:
    row = read_object(place, value)
    at = read_date(f"{place}.at", row.get("at"))
    return {
        "state": read_choice(f"{place}.state", row.get("state"), STATES),
        "at": at.isoformat() if at else "",
        "by": read_text(f"{place}.by", row.get("by"), limit=MAX_REASON_CHARS),
    }
