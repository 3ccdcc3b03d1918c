"""A conversation's ledger: what its person typed as rules, preferences, decisions and corrections, with their states.

Entries are found when their message is stored, in its transaction. Two columns of the conversation have the texts that
requests contain, so that a turn reads no entry: `rules` (in force) and `noted`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from compression.core.ledger.find import entry_of, find_entries
from compression.core.ledger.values import Found
from compression.core.tokens import count_tokens
from compression.core.values import Window
from compression.ids import uuid7
from conversations.context import usage
from conversations.context.rules import MAX_FOUND_SHARE, MAX_RULES, require_room
from conversations.errors import Invalid, NotFound
from conversations.models import Conversation, LedgerEntry, Message

State = LedgerEntry.State
CHOICES = (State.IN_FORCE, State.NOTED, State.DISMISSED)
"""The states that a person can choose."""
NOTED_KEPT, NOTED_STEP = 64, 32
"""From so many noted entries on, the oldest leave the column, so many at a time: between, requests begin alike."""
TICK = timedelta(microseconds=1)


def current(conversation_id: UUID) -> QuerySet[LedgerEntry]:
    """The entries whose messages are part of the history, and those added by hand."""
    return LedgerEntry.objects.filter(conversation_id=conversation_id, is_gone=False)


def in_force(conversation_id: UUID) -> QuerySet[LedgerEntry]:
    """The entries in force, in the order of their decisions."""
    return current(conversation_id).filter(state=State.IN_FORCE).order_by("decided_at", "pk")


def take_in(message: Message, typed: str, window: Window) -> None:
    """Store the entries in the typed text of a new message.

    Call it in the transaction that stores the message, under the conversation's lock. A message without entries costs
    no query.
    """
    found = find_entries(typed)
    if not found:
        return
    topics = {entry.topic.name for entry in found}
    standing = current(message.conversation_id).filter(Q(state=State.IN_FORCE) | Q(topic__in=topics))
    heads = list(standing.filter(state__in=(State.IN_FORCE, State.NOTED)).order_by("decided_at"))
    made: list[LedgerEntry] = []
    changed: dict[UUID, LedgerEntry] = {}
    for number, one in enumerate(found):
        entry = _entry(message.conversation_id, one, said_at=message.created_at + number * TICK, message=message.pk)
        replaced = [head for head in heads if entry.replaces(head)]
        if one.is_sure and not _has_room(entry, [head for head in heads if head not in replaced], window):
            entry.state = entry.chosen_state = State.NOTED
            replaced = [head for head in replaced if entry.replaces(head)]
            entry.note(by="budget")
        else:
            entry.note(by="message")
        for head in replaced:
            head.supersede(entry)
            changed[head.pk] = head
        heads = [head for head in heads if head not in replaced] + [entry]
        made.append(entry)
    LedgerEntry.objects.bulk_create(made)
    _save([entry for entry in changed.values() if entry not in made])
    write_columns(message.conversation_id)


def with_found(rules: Sequence[str], typed: str, window: Window) -> list[str]:
    """The rules, and those that a text would put in force: what a message is measured with before it is stored."""
    room = MAX_FOUND_SHARE * window.size - sum(map(count_tokens, rules))
    together = list(rules)
    for one in find_entries(typed):
        room -= count_tokens(one.text) if one.is_sure else 0
        if one.is_sure and room >= 0 and len(together) < MAX_RULES and one.text not in together:
            together.append(one.text)
    return together


def withdraw(conversation_id: UUID, message_ids: Collection[UUID], *, by: UUID) -> None:
    """Take the entries of messages that left the history out of force; what they superseded stands again.

    `by` is the message in their place: where it repeats an entry's sentence, the state that a person chose stays.
    """
    leaving = list(current(conversation_id).filter(message__in=message_ids)) if message_ids else []
    if not leaving:
        return
    chosen = {entry.text: entry.chosen_state for entry in leaving if entry.is_chosen}
    repeated = [entry for entry in current(conversation_id).filter(message=by) if entry.text in chosen]
    for entry in repeated:
        entry.chosen_state, entry.is_chosen = chosen[entry.text], True
        entry.supersede(None)
    _save(repeated)
    LedgerEntry.objects.filter(pk__in=[entry.pk for entry in leaving]).update(is_gone=True, superseded_by=None)
    _release(conversation_id, [entry.pk for entry in (*leaving, *repeated)])
    _settle(conversation_id, {entry.topic for entry in leaving})
    write_columns(conversation_id)


def take_up(conversation_id: UUID, ids: Mapping[str, str]) -> None:
    """Bring the entries back whose messages are part of the history again, as copies: id -> the copy's id."""
    gone = LedgerEntry.objects.filter(conversation_id=conversation_id, is_gone=True, message__in=list(ids))
    entries = list(gone)
    if not entries:
        return
    copies = [UUID(ids[str(entry.message)]) for entry in entries]
    moments = dict(Message.objects.filter(pk__in=copies).values_list("pk", "created_at"))
    for entry, copy in zip(entries, copies, strict=True):
        entry.message, entry.said_at, entry.is_gone = copy, moments[copy], False
        entry.supersede(None)
    _save(entries)
    _settle(conversation_id, {entry.topic for entry in entries})
    write_columns(conversation_id)


def copy_entries(source_id: UUID, copy_id: UUID, ids: Mapping[str, str] | None) -> None:
    """Copy the entries of a fork's messages (id -> the copy's id) and those added by hand, with their states.

    Without `ids`, the copy begins without messages and gets what is in force, as if added by hand.
    """
    _adopt(source_id)
    rows = list(current(source_id).order_by("decided_at"))
    if ids is None:
        rows = [row for row in rows if row.state == State.IN_FORCE]
    else:
        rows = [row for row in rows if row.message is None or str(row.message) in ids]
    new = {row.pk: uuid7() for row in rows}
    topics = {row.topic for row in rows if row.superseded_by and row.superseded_by not in new}
    for row in rows:
        by = new.get(row.superseded_by) if row.superseded_by else None
        row.pk, row.conversation_id, row.superseded_by = new[row.pk], copy_id, by
        row.message = UUID(ids[str(row.message)]) if ids is not None and row.message else None
        row.state = State.SUPERSEDED if by else State(row.chosen_state)
        row._state.adding = True
    LedgerEntry.objects.bulk_create(rows)
    _settle(copy_id, topics)
    write_columns(copy_id)


def choose(conversation: Conversation, entry_id: UUID, *, state: str) -> LedgerEntry:
    """Put an entry in force, note it or dismiss it, as its person decides.

    Raises NotFound, or Invalid for another state, or if there is no room for one more rule.
    """
    if state not in CHOICES:
        raise Invalid(f"state: must be one of {', '.join(CHOICES)}.", field="state")
    with transaction.atomic():
        _lock(conversation)
        entry = current(conversation.pk).filter(pk=entry_id).first()
        if entry is None:
            raise NotFound("No such entry.")
        if state == State.IN_FORCE and entry.state != State.IN_FORCE:
            require_room(conversation, [*conversation.rules, entry.text], model=conversation.model)
        entry.chosen_state, entry.is_chosen, entry.decided_at = State(state), True, timezone.now()
        entry.superseded_by, entry.state = None, entry.chosen_state
        entry.note(by="person")
        _save([entry])
        if state == State.NOTED:
            _release(conversation.pk, [entry.pk])
        _settle(conversation.pk, {entry.topic})
        write_columns(conversation.pk)
    conversation.refresh_from_db(fields=["rules", "noted"])
    return current(conversation.pk).get(pk=entry_id)


def set_rules(conversation_id: UUID, rules: Sequence[str]) -> None:
    """Have exactly these texts in force, in this order; what was in force otherwise is dismissed.

    One text in another's place supersedes it. Call it in a transaction, under the conversation's lock.
    """
    _adopt(conversation_id)
    now = timezone.now()
    entries = list(current(conversation_id).filter(Q(state=State.IN_FORCE) | Q(text__in=list(rules))))
    known = {entry.text: entry for entry in sorted(entries, key=lambda entry: entry.state == State.IN_FORCE)}
    kept: list[LedgerEntry] = []
    made: list[LedgerEntry] = []
    for number, text in enumerate(rules):
        entry = known.get(text)
        if entry is None:
            entry = _entry(conversation_id, entry_of(text), said_at=now + number * TICK, message=None)
            made.append(entry)
        elif entry.state != State.IN_FORCE:
            entry.supersede(None)
        if entry.state != State.IN_FORCE or entry in made:
            entry.chosen_state = entry.state = State.IN_FORCE
            entry.note(by="person")
        entry.decided_at, entry.is_chosen = now + number * TICK, True
        kept.append(entry)
    removed = [entry for entry in entries if entry.state == State.IN_FORCE and entry not in kept]
    LedgerEntry.objects.bulk_create(made)
    for entry in removed:
        if len(made) == len(removed) == 1:
            entry.supersede(made[0])
        else:
            entry.chosen_state = entry.state = State.DISMISSED
            entry.is_chosen = True
            entry.note(by="person")
    _save([entry for entry in (*kept, *removed) if entry not in made])
    write_columns(conversation_id)


def prevail(conversation: Conversation, text: str) -> None:
    """Have a rule that was just put in force supersede those about the same thing."""
    _settle(conversation.pk, {entry_of(" ".join(text.split())).topic.name})
    write_columns(conversation.pk)
    conversation.refresh_from_db(fields=["rules", "noted"])


def _entry(conversation_id: UUID, found: Found, *, said_at: datetime, message: UUID | None) -> LedgerEntry:
    state = State.IN_FORCE if found.is_sure else State.NOTED
    return LedgerEntry(
        conversation_id=conversation_id,
        kind=found.kind,
        text=found.text,
        state=state,
        chosen_state=state,
        topic=found.topic.name,
        value=found.topic.value,
        forbids=found.topic.forbids,
        message=message,
        said_at=said_at,
        decided_at=said_at,
    )


def _has_room(entry: LedgerEntry, others: Iterable[LedgerEntry], window: Window) -> bool:
    texts = [other.text for other in others if other.state == State.IN_FORCE]
    tokens = sum(map(count_tokens, (*texts, entry.text)))
    return len(texts) < MAX_RULES and tokens <= MAX_FOUND_SHARE * window.size


def _release(conversation_id: UUID, entry_ids: Collection[UUID]) -> None:
    """Have the entries stand again that these superseded."""
    released = list(LedgerEntry.objects.filter(conversation_id=conversation_id, superseded_by__in=entry_ids))
    for entry in released:
        entry.supersede(None)
    _save(released)
    _settle(conversation_id, {entry.topic for entry in released})


def _settle(conversation_id: UUID, topics: Collection[str]) -> None:
    """Have each entry of the topics that stands superseded by the first later one that replaces it."""
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
    _save(changed)


def _save(entries: Sequence[LedgerEntry]) -> None:
    fields = ("state", "chosen_state", "is_chosen", "superseded_by", "message", "said_at", "decided_at", "is_gone")
    LedgerEntry.objects.bulk_update(entries, [*fields, "history"], batch_size=100)


def _adopt(conversation_id: UUID) -> None:
    """Make entries of the rules that have none: a row may have been stored with rules."""
    rules = Conversation.objects.values_list("rules", flat=True).get(pk=conversation_id)
    _adopt_rules(conversation_id, rules)


def _adopt_rules(conversation_id: UUID, rules: Sequence[str]) -> None:
    known = LedgerEntry.objects.filter(conversation_id=conversation_id, text__in=rules) if rules else ()
    texts = {entry.text for entry in known}
    begin = timezone.now() - timedelta(seconds=1)
    made = [
        _entry(conversation_id, entry_of(rule), said_at=begin + number * TICK, message=None)
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
        _adopt_rules(conversation_id, missing)
        rules = _texts_in_force(conversation_id)
    entries = current(conversation_id).filter(state=State.NOTED)
    surplus = max(0, entries.count() - NOTED_KEPT) // NOTED_STEP * NOTED_STEP
    noted = [
        [said_at.isoformat(), text]
        for said_at, text in entries.order_by("said_at", "pk").values_list("said_at", "text")[surplus:]
    ]
    if (rules, noted) != (before, noted_before):
        rows.update(rules=rules, noted=noted)
        transaction.on_commit(partial(usage.publish_usage, conversation_id))


def _texts_in_force(conversation_id: UUID) -> list[str]:
    return list(dict.fromkeys(in_force(conversation_id).values_list("text", flat=True)))


def _lock(conversation: Conversation) -> None:
    locked = Conversation.objects.select_for_update().filter(pk=conversation.pk)
    if not list(locked.values_list("pk")):
        raise NotFound("No such conversation.")
    conversation.refresh_from_db(fields=["rules", "noted"])
