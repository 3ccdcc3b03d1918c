"""Entries of ledgers that a person keeps for all conversations of a project, or for all that are in none.

An entry stays in the ledger of its conversation and follows its state there: in force it is a rule, noted a record.
While that conversation is in the project (or in none), shares its memory and is not in the trash, the entry is part of
each request of the others. The memory of conversations in no project is off until the person switches it on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import (
    Case,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    StringAgg,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, JSONObject

from compression.core.tokens import count_tokens
from conversations.access import CHATS
from conversations.models import Conversation, LedgerEntry, Preference

MAX_KEPT = 100
"""The most entries that a project keeps."""
MAX_KEPT_SHARE = 1 / 8
"""The largest share of the window for kept entries: rules have it before notes, and the latest before earlier ones."""
State = LedgerEntry.State
STANDING = (State.IN_FORCE, State.NOTED)
COLUMNS = ("id", "kept_for_id", "state", "kind", "text", "said_at", "decided_at", "topic", "value", "forbids")


class KeptTexts(NamedTuple):
    """The texts of kept entries as requests have them, in the order of their decisions."""

    rules: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    """Lines with the date and the quoted words."""
    is_personal: bool = False
    """Whether they are kept for all conversations of the person, not for a project."""


def standing_in(project: Any) -> QuerySet[LedgerEntry]:
    """The kept entries of a project that count, in the order of their decisions. `project`: an id or an expression."""
    return _standing(kept_in=project, conversation__project=F("kept_in"))


def standing_for(person: Any) -> QuerySet[LedgerEntry]:
    """The entries that a person keeps for all their conversations in no project, in the same order."""
    return _standing(kept_for=person, conversation__owner=F("kept_for"), conversation__project=None)


def _standing(**where: Any) -> QuerySet[LedgerEntry]:
    shared = {"conversation__shares_memory": True, "conversation__trashed_at": None}
    rows = LedgerEntry.objects.filter(**where, **shared, is_withdrawn=False, state__in=STANDING)
    return rows.order_by("decided_at", "pk")


def scope_of(conversation: Conversation) -> str:
    """The other conversations that an entry can be kept for: "project", "person", or "" for none; at most two queries.

    Only the owner of a project keeps entries for it: what other people type there is in force in their own chats alone.
    """
    if not conversation.shares_memory or conversation.kind not in CHATS:
        return ""
    if conversation.project:
        return "project" if conversation.project.owner_id == conversation.owner_id else ""
    is_on = Preference.objects.filter(user=conversation.owner_id, remembers=True).exists()
    return "person" if is_on else ""


def with_replacements(entries: Iterable[LedgerEntry]) -> list[tuple[LedgerEntry, LedgerEntry | None]]:
    """Each entry with the later one about the same thing that takes its place, if any; the latest first."""
    standing: list[LedgerEntry] = []
    later: dict[UUID, LedgerEntry] = {}
    rows = list(entries)
    for entry in rows:
        later |= {earlier.pk: entry for earlier in standing if entry.replaces(earlier)}
        standing = [earlier for earlier in standing if earlier.pk not in later] + [entry]
    return [(entry, later.get(entry.pk)) for entry in reversed(rows)]


def may_have_any() -> Exists:
    """Whether anything is kept for a conversation's project or person. It is read in less time than `column`."""
    project = Coalesce(OuterRef("parent__project_id"), OuterRef("project_id"))
    return Exists(LedgerEntry.objects.filter(Q(kept_in=project) | Q(kept_for=OuterRef("owner_id"))))


def column() -> Case:
    """The kept entries that a conversation has, one JSON object a line; null where it keeps out of the memory."""
    of_project = standing_in(Coalesce(OuterRef("parent__project_id"), OuterRef("project_id")))
    of_person = standing_for(OuterRef("owner_id"))
    shares = Q(parent=None, shares_memory=True) | Q(parent__shares_memory=True)
    remembers = Q(owner__preference__remembers=True) & ~Q(kind__in=("gateway", "file"))
    is_inside = Q(project__isnull=False) | Q(parent__project__isnull=False)
    return Case(
        When(shares & is_inside, then=_lines_of(of_project, "kept_in")),
        When(shares & remembers, then=_lines_of(of_person, "kept_for")),
        default=None,
        output_field=TextField(),
    )


def column_of(conversation: Conversation) -> str | None:
    """The same for a conversation that may be unsaved; at most two queries."""
    if conversation.project_id and conversation.shares_memory:
        return lines_of(conversation.project_id)
    return _joined(standing_for(conversation.owner_id)) if scope_of(conversation) == "person" else None


def lines_of(project: Any) -> str | None:
    """The kept entries of a project, one JSON object a line; None for none."""
    return _joined(standing_in(project))


def _joined(rows: QuerySet[LedgerEntry]) -> str | None:
    lines: str | None = rows.order_by().aggregate(lines=_lines())["lines"]
    return lines


def _lines_of(rows: QuerySet[LedgerEntry], kept: str) -> Subquery:
    return Subquery(rows.order_by().values(kept).annotate(lines=_lines()).values("lines"))


def _lines() -> StringAgg:
    line = Cast(JSONObject(**{name: F(name) for name in COLUMNS}), TextField())
    return StringAgg(line, delimiter=Value("\n"))  # not every SQLite can order what it aggregates


@lru_cache(maxsize=256)
def read_entries(column: str | None) -> tuple[LedgerEntry, ...]:
    """The entries, unsaved, of the column's lines that no later entry about the same thing replaces."""
    entries: list[LedgerEntry] = []
    lines = sorted(
        map(json.loads, column.split("\n") if column else ()), key=lambda line: (line["decided_at"], line["id"])
    )
    for values in lines:
        entry = LedgerEntry(**{**values, "id": UUID(values["id"]), "forbids": bool(values["forbids"])})
        entry.chosen_state = entry.state
        entries.append(entry)
    return tuple(entry for entry, later in reversed(with_replacements(entries)) if later is None)


@lru_cache(maxsize=256)
def kept_texts(column: str | None, *, own: tuple[str, ...], window: int) -> KeptTexts:
    """The texts of the entries that have room in a window of this many tokens, without the conversation's own rules."""
    entries = read_entries(column)
    room = MAX_KEPT_SHARE * window
    rules = [entry.text for entry in entries if entry.state == State.IN_FORCE and entry.text not in own]
    kept_rules, room = _fitting(dict.fromkeys(rules), room)
    noted = [f"{_date(entry.said_at)}: “{entry.text}”" for entry in entries if entry.state == State.NOTED]
    kept_noted, room = _fitting(dict.fromkeys(noted), room)
    return KeptTexts(kept_rules, kept_noted, any(entry.kept_for_id for entry in entries))


def _fitting(texts: Iterable[str], room: float) -> tuple[tuple[str, ...], float]:
    """(the latest texts that have room, in order; the room that is left)."""
    fitting = []
    for text in reversed(list(texts)):
        tokens = count_tokens(text) + 2  # its "- " and the end of its line
        if tokens > room:
            break
        room -= tokens
        fitting.append(text)
    return tuple(reversed(fitting)), room


def _date(moment: datetime | str) -> str:
    return str(moment)[:10]
