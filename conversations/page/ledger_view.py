"""The ledger on the page: the entries in force, the noted ones, and those superseded or dismissed."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from compression.core.tokens import count_tokens
from conversations.context import ledger_entries
from conversations.context.system_prompt import noted_lines
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.models import Conversation, LedgerEntry

MAX_LISTED = 50
"""The most noted entries, and the most that no longer hold, that the page lists: the latest of each."""
State = LedgerEntry.State


@dataclass(frozen=True, slots=True)
class PastEntry:
    """An entry that no longer holds, with the later one in its place, if any."""

    entry: LedgerEntry
    later: LedgerEntry | None


@dataclass(frozen=True, slots=True)
class LedgerLists:
    """The noted entries and those that no longer hold; entries in force have forms (`setting_forms.rule_forms`).

    `tokens` is the size of the rules in force. `sent` is the number of noted entries that requests have room for; None
    before a compaction.
    """

    tokens: int
    noted: tuple[LedgerEntry, ...]
    noted_count: int
    past: tuple[PastEntry, ...]
    past_count: int
    sent: int | None


def ledger_lists(conversation: Conversation) -> LedgerLists:
    """The ledger as the panel shows it; a fixed number of queries."""
    entries = ledger_entries.current(conversation.pk)
    noted = entries.filter(state=State.NOTED).order_by("-said_at", "-pk")
    past = entries.filter(state__in=(State.SUPERSEDED, State.DISMISSED)).order_by("-said_at", "-pk")
    latest = list(past[:MAX_LISTED])
    later = _by_id(conversation.pk, {entry.superseded_by for entry in latest if entry.superseded_by})
    window = conversation.model.usable_window.size if conversation.model else UNKNOWN_WINDOW
    lines = noted_lines(conversation.noted, cut=conversation.compressed_at, window=window)
    return LedgerLists(
        tokens=sum(map(count_tokens, conversation.rules)),
        noted=tuple(noted[:MAX_LISTED]),
        noted_count=noted.count(),
        past=tuple(PastEntry(entry, later.get(entry.superseded_by)) for entry in latest),
        past_count=past.count(),
        sent=len(lines) if conversation.is_compressed else None,
    )


def _by_id(conversation_id: UUID, ids: set[UUID]) -> dict[UUID | None, LedgerEntry]:
    rows = LedgerEntry.objects.filter(conversation_id=conversation_id, pk__in=ids) if ids else ()
    return {row.pk: row for row in rows}
