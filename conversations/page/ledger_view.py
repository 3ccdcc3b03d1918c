"""The ledger on the page: the entries in force, the noted ones, and those superseded or dismissed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from compression.core.tokens import count_tokens
from conversations.context.kept_entries import STANDING, scope_of
from conversations.context.system_prompt import noted_lines
from conversations.instructions import ledger_entries
from conversations.llm.known_models import UNKNOWN_WINDOW
from conversations.models import Conversation, LedgerEntry, Message

MAX_LISTED = 50
"""The most noted entries, and the most that no longer hold, that the page lists: the latest of each."""
State, Kind = LedgerEntry.State, LedgerEntry.Kind
SHOWN = Q(kind__in=(Kind.RULE, Kind.WITHDRAWAL)) | Q(asks_to_keep=True) | Q(kept_for__isnull=False)
"""Matches the entries that are shown below their messages."""


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


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry below its message: what it did (`does`), and the text of the rule that it is about.

    `does` is "orders", "asks" (whether it orders), "withdraws", "asks_back" (whether it withdraws), "dismissed",
    "asks_to_keep" (for all chats) or "kept" (for all chats).
    """

    entry: LedgerEntry
    does: str
    rule: str
    scope: str = ""
    """The other chats that can have it too: those of the "project", all of the "person", or none."""


def entries_below(conversation_id: UUID, messages: Sequence[Message]) -> defaultdict[UUID, list[EntryView]]:
    """The rules, withdrawals and questions that are shown below each message, by its id; at most five queries."""
    ids = [message.pk for message in messages if message.role == Message.Role.USER]
    shown: defaultdict[UUID, list[EntryView]] = defaultdict(list)
    rows = ledger_entries.current(conversation_id).filter(SHOWN, message__in=ids) if ids else ()
    entries = sorted(rows, key=lambda row: row.said_at)
    ended = _ended_by([row.pk for row in entries if row.kind == Kind.WITHDRAWAL])
    asked = {row.asks_about for row in entries if row.asks_about}
    rules = _by_id(conversation_id, asked - {row.pk for row in entries}) | {row.pk: row for row in entries}
    taking_back = {(row.message, row.text) for row in entries if row.kind == Kind.WITHDRAWAL}
    scope = ""
    if any(row.state in STANDING for row in entries):
        columns = ("kind", "shares_memory", "owner", "project__owner")
        scope = scope_of(Conversation.objects.select_related("project").only(*columns).get(pk=conversation_id))
    for row in entries:
        is_told = row.kind != Kind.WITHDRAWAL and (row.message, row.text) in taking_back  # one line a sentence
        if row.message and not is_told and (view := _entry_view(row, ended, rules, scope)):
            shown[row.message].append(replace(view, scope=scope))
    return shown


def _entry_view(
    row: LedgerEntry, ended: Mapping[UUID, str], rules: Mapping[UUID | None, LedgerEntry], scope: str
) -> EntryView | None:
    if row.kind == Kind.WITHDRAWAL:
        if row.asks_about in rules and row.state == State.NOTED:
            return EntryView(row, "asks_back", rules[row.asks_about].text)
        return EntryView(row, "withdraws", ended[row.pk]) if row.pk in ended else None
    if row.state == State.IN_FORCE and row.kind == Kind.RULE:
        return EntryView(row, "orders", row.text)
    if scope == "person" and row.state in STANDING and (row.asks_to_keep or row.kept_for_id):
        return EntryView(row, "asks_to_keep" if row.asks_to_keep else "kept", row.text)
    if row.kind != Kind.RULE:
        return None
    if row.state == State.NOTED and not row.is_chosen:
        return EntryView(row, "asks", row.text)
    return EntryView(row, "dismissed", row.text) if row.state == State.DISMISSED else None


def _ended_by(ids: Sequence[UUID]) -> dict[UUID, str]:
    """The text of the latest rule that each of these withdrawals ended."""
    rows = LedgerEntry.objects.filter(superseded_by__in=ids).order_by("said_at") if ids else ()
    return {row.superseded_by: row.text for row in rows if row.superseded_by}


def _by_id(conversation_id: UUID, ids: set[UUID]) -> dict[UUID | None, LedgerEntry]:
    rows = LedgerEntry.objects.filter(conversation_id=conversation_id, pk__in=ids) if ids else ()
    return {row.pk: row for row in rows}
