"""A conversation's ledger: the rules, preferences, decisions and corrections that its person typed, with their states.

Entries are detected when their message is stored, in its transaction. Two columns of the conversation have the texts
that requests contain, so that a turn reads no entry: `rules` (in force) and `noted`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core.ledger import withdrawals
from compression.core.ledger.find import entry_of, find_entries
from compression.core.ledger.own_words import Sentence
from compression.core.ledger.personal_facts import facts_about_oneself
from compression.core.ledger.values import DetectedEntry
from compression.core.tokens import count_tokens
from compression.core.values import Window
from compression.ids import uuid7
from conversations.context import kept_entries
from conversations.errors import Conflict, Invalid, NotFound
from conversations.instructions.ledger_entries import (
    TICK,
    add_missing_rules,
    current,
    new_entry,
    release_superseded,
    save_entries,
    supersede_earlier,
    write_columns,
)
from conversations.instructions.rules import MAX_DETECTED_SHARE, MAX_RULES, require_room
from conversations.models import Conversation, LedgerEntry, Message
from conversations.requests import usage

State = LedgerEntry.State
TO_KEEP = ("preference", "fact")
"""The kinds of entries that a person is asked to keep for all their conversations, each text once."""
CHOSEN_STATES = (State.IN_FORCE, State.NOTED, State.DISMISSED)
"""The states that a person can choose."""


def add_entries(message: Message, typed: str, window: Window) -> None:
    """Store the entries in the typed text of a new message.

    Call it in the transaction that stores the message, under the conversation's lock. A message without entries costs
    no query.
    """
    found, taking_back = find_entries(typed), withdrawals.taking_back(typed)
    about_oneself = facts_about_oneself(typed)
    asks = bool(about_oneself or any(entry.kind == "preference" for entry in found)) and _remembers(message)
    if asks:
        texts = {entry.text for entry in found}
        found = (*found, *(fact for fact in about_oneself if fact.text not in texts))
    if not found and not taking_back:
        return
    asked = _asked_before(message, found) if asks else set()
    topics = {entry.topic.name for entry in found}
    standing = current(message.conversation_id).filter(Q(state=State.IN_FORCE) | Q(topic__in=topics))
    heads = list(standing.filter(state__in=(State.IN_FORCE, State.NOTED)).order_by("decided_at"))
    made = _withdrawals(message, taking_back, heads)
    changed: dict[UUID, LedgerEntry] = {}
    for entry in made:
        for head in [head for head in heads if entry.replaces(head)]:
            head.supersede(entry)
            changed[head.pk] = head
            heads.remove(head)
    for number, one in enumerate(found, len(made)):
        entry = new_entry(message.conversation_id, one, said_at=message.created_at + number * TICK, message=message.pk)
        entry.asks_to_keep = (asks and one.kind in TO_KEEP and one.text not in asked) or None
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
    if not made:
        return
    LedgerEntry.objects.bulk_create(made)
    save_entries([entry for entry in changed.values() if entry not in made])
    write_columns(message.conversation_id)


def _remembers(message: Message) -> bool:
    """Whether the person is asked about entries to keep for all their conversations; one query."""
    asked = Conversation.objects.filter(
        pk=message.conversation_id,
        kind__in=kept_entries.CHATS,
        project=None,
        shares_memory=True,
        owner__preference__remembers=True,
    )
    return asked.exists()


def _asked_before(message: Message, found: Sequence[DetectedEntry]) -> set[str]:
    """The texts of entries that the person was asked to keep in any conversation."""
    texts = [entry.text for entry in found if entry.kind in TO_KEEP]
    owner = Conversation.objects.filter(pk=message.conversation_id).values("owner")
    rows = LedgerEntry.objects.filter(conversation__owner__in=owner, text__in=texts, asks_to_keep__isnull=False)
    return set(rows.values_list("text", flat=True))


def _withdrawals(message: Message, sentences: Sequence[Sentence], heads: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """The entries, unsaved, of sentences that take a rule in force back, or may do so."""
    rules = [head for head in heads if head.state == State.IN_FORCE]
    known = [withdrawals.Rule(rule.text, rule.about) for rule in rules]
    made: list[LedgerEntry] = []
    for number, sentence in enumerate(sentences):
        if meant := withdrawals.rule_meant(sentence, known):
            rule = rules[meant.place]
            detected = DetectedEntry("withdrawal", sentence.text, False, rule.about)
            said_at = message.created_at + number * TICK
            entry = new_entry(message.conversation_id, detected, said_at=said_at, message=message.pk)
            entry.asks_about = None if meant.is_sure else rule.pk
            entry.note(by="message")
            made.append(entry)
    return made


def with_detected(rules: Sequence[str], typed: str, window: Window) -> list[str]:
    """The rules, and those that a text would put in force: a message is measured with them before it is stored."""
    room = MAX_DETECTED_SHARE * window.size - sum(map(count_tokens, rules))
    together = list(rules)
    for one in find_entries(typed):
        room -= count_tokens(one.text) if one.is_sure else 0
        if one.is_sure and room >= 0 and len(together) < MAX_RULES and one.text not in together:
            together.append(one.text)
    return together


def withdraw(conversation_id: UUID, message_ids: Collection[UUID], *, by: UUID) -> None:
    """End the entries of messages that left the history; the entries that they superseded are restored.

    `by` is the message in their place: where it repeats an entry's sentence, the state that a person chose stays.
    """
    leaving = list(current(conversation_id).filter(message__in=message_ids)) if message_ids else []
    if not leaving:
        return
    answered = [one for one in leaving if one.is_chosen or one.kept_in_id or one.asks_to_keep is not None]
    before = {entry.text: entry for entry in answered}
    repeated = [entry for entry in current(conversation_id).filter(message=by) if entry.text in before]
    for entry in repeated:
        earlier = before[entry.text]
        entry.kept_in_id, entry.kept_for_id = earlier.kept_in_id, earlier.kept_for_id
        entry.asks_to_keep = earlier.asks_to_keep
        if earlier.is_chosen:
            entry.chosen_state, entry.is_chosen = earlier.chosen_state, True
            entry.supersede(None)
    save_entries(repeated)
    LedgerEntry.objects.filter(pk__in=[entry.pk for entry in leaving]).update(is_withdrawn=True, superseded_by=None)
    release_superseded(conversation_id, [entry.pk for entry in (*leaving, *repeated)])
    supersede_earlier(conversation_id, {entry.topic for entry in leaving})
    write_columns(conversation_id)


def restore_entries(conversation_id: UUID, ids: Mapping[str, str]) -> None:
    """Bring the entries back whose messages are part of the history again, as copies: id -> the copy's id."""
    gone = LedgerEntry.objects.filter(conversation_id=conversation_id, is_withdrawn=True, message__in=list(ids))
    entries = list(gone)
    if not entries:
        return
    copies = [UUID(ids[str(entry.message)]) for entry in entries]
    moments = dict(Message.objects.filter(pk__in=copies).values_list("pk", "created_at"))
    for entry, copy in zip(entries, copies, strict=True):
        entry.message, entry.said_at, entry.is_withdrawn = copy, moments[copy], False
        entry.supersede(None)
    save_entries(entries)
    supersede_earlier(conversation_id, {entry.topic for entry in entries})
    write_columns(conversation_id)


def copy_entries(source_id: UUID, copy_id: UUID, ids: Mapping[str, str] | None) -> None:
    """Copy the entries of a fork's messages (id -> the copy's id) and those added by hand, with their states.

    Without `ids`, the copy begins without messages and gets what is in force, as if added by hand.
    """
    add_missing_rules(source_id)
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
        row.kept_in_id = row.kept_for_id = row.asks_to_keep = None  # the original's is kept
        row.state = State.SUPERSEDED if by else State(row.chosen_state)
        row._state.adding = True
    LedgerEntry.objects.bulk_create(rows)
    supersede_earlier(copy_id, topics)
    write_columns(copy_id)


def choose(conversation: Conversation, entry_id: UUID, *, state: str) -> LedgerEntry:
    """Put an entry in force, note it or dismiss it, as its person decides.

    Raises NotFound, or Invalid for another state, or if there is no room for one more rule.
    """
    if state not in CHOSEN_STATES:
        raise Invalid(f"state: must be one of {', '.join(CHOSEN_STATES)}.", field="state")
    with transaction.atomic():
        _lock(conversation)
        entry = current(conversation.pk).filter(pk=entry_id).first()
        if entry is None:
            raise NotFound(_("No such entry."))
        is_rule = entry.kind != LedgerEntry.Kind.WITHDRAWAL
        if is_rule and state == State.IN_FORCE and entry.state != State.IN_FORCE:
            require_room(conversation, [*conversation.rules, entry.text], model=conversation.model)
        if entry.kind == LedgerEntry.Kind.WITHDRAWAL and state != State.DISMISSED:
            state, entry.asks_about = State.NOTED, None  # it is no order itself: chosen, it takes its rule back
        entry.chosen_state, entry.is_chosen, entry.decided_at = State(state), True, timezone.now()
        entry.superseded_by, entry.state = None, entry.chosen_state
        entry.note(by="person")
        save_entries([entry])
        if state != State.IN_FORCE:
            release_superseded(conversation.pk, [entry.pk])
        supersede_earlier(conversation.pk, {entry.topic})
        write_columns(conversation.pk)
    conversation.refresh_from_db(fields=["rules", "noted"])
    return current(conversation.pk).get(pk=entry_id)


def keep(conversation: Conversation, entry_id: UUID, *, on: bool) -> LedgerEntry:
    """Keep an entry in force or noted for all conversations of the project, or for its own alone.

    Outside of projects it is kept for all of the person's conversations that are in none, if that memory is on. Raises
    NotFound, Conflict for a conversation without a memory to share and for an entry that holds no more, and Invalid if
    MAX_KEPT entries are kept already.
    """
    with transaction.atomic():
        _lock(conversation)
        entry = current(conversation.pk).filter(pk=entry_id).first()
        if entry is None:
            raise NotFound(_("No such entry."))
        scope = _scope_to_keep(conversation, entry) if on else ""
        entry.kept_in_id = conversation.project_id if scope == "project" else None
        entry.kept_for_id = conversation.owner_id if scope == "person" else None
        entry.asks_to_keep = None if entry.asks_to_keep is None else False
        entry.save(update_fields=["kept_in", "kept_for", "asks_to_keep"])
        transaction.on_commit(partial(usage.publish_usage, conversation.pk))
    return entry


def _scope_to_keep(conversation: Conversation, entry: LedgerEntry) -> str:
    scope = kept_entries.scope_of(conversation)
    if not scope:
        raise Conflict(
            _(
                "This chat shares no memory: it is in no project of yours, or kept out, and the memory of all chats is "
                "off."
            ),
            code="not_shared",
        )
    if entry.state not in kept_entries.STANDING or entry.kind == LedgerEntry.Kind.WITHDRAWAL:
        raise Conflict(_("Only entries in force or noted can be kept for the project."), code="not_standing")
    is_project = scope == "project"
    rows = (
        kept_entries.standing_in(conversation.project_id)
        if is_project
        else kept_entries.standing_for(conversation.owner_id)
    )
    if rows.exclude(pk=entry.pk).count() >= kept_entries.MAX_KEPT:
        raise Invalid(
            _("kept: at most %(most)s entries are kept. Remove one first.") % {"most": kept_entries.MAX_KEPT},
            field="kept",
            limit=kept_entries.MAX_KEPT,
        )
    return scope


def set_rules(conversation_id: UUID, rules: Sequence[str]) -> None:
    """Put exactly these texts in force, in this order, and dismiss all others.

    One text in another's place supersedes it. Call it in a transaction, under the conversation's lock.
    """
    add_missing_rules(conversation_id)
    now = timezone.now()
    entries = list(current(conversation_id).filter(Q(state=State.IN_FORCE) | Q(text__in=list(rules))))
    known = {entry.text: entry for entry in sorted(entries, key=lambda entry: entry.state == State.IN_FORCE)}
    kept: list[LedgerEntry] = []
    made: list[LedgerEntry] = []
    for number, text in enumerate(rules):
        entry = known.get(text)
        if entry is None:
            entry = new_entry(conversation_id, entry_of(text), said_at=now + number * TICK, message=None)
            made.append(entry)
        elif entry.state != State.IN_FORCE:
            entry.supersede(None)
        if entry.state != State.IN_FORCE or entry in made:
            entry.chosen_state = entry.state = State.IN_FORCE
            entry.note(by="person")
        entry.decided_at, entry.is_chosen = now + number * TICK, True
        kept.append(entry)
    removed = [entry for entry in entries if entry.state == State.IN_FORCE and entry not in kept]
    if len(made) == len(removed) == 1:
        made[0].kept_in_id, made[0].kept_for_id = removed[0].kept_in_id, removed[0].kept_for_id
    LedgerEntry.objects.bulk_create(made)
    for entry in removed:
        if len(made) == len(removed) == 1:
            entry.supersede(made[0])
        else:
            entry.chosen_state = entry.state = State.DISMISSED
            entry.is_chosen = True
            entry.note(by="person")
    save_entries([entry for entry in (*kept, *removed) if entry not in made])
    write_columns(conversation_id)


def supersede_others(conversation: Conversation, text: str) -> None:
    """Supersede the rules about the same subject as a rule that was just put in force."""
    supersede_earlier(conversation.pk, {entry_of(" ".join(text.split())).topic.name})
    write_columns(conversation.pk)
    conversation.refresh_from_db(fields=["rules", "noted"])


def _has_room(entry: LedgerEntry, others: Iterable[LedgerEntry], window: Window) -> bool:
    texts = [other.text for other in others if other.state == State.IN_FORCE]
    tokens = sum(map(count_tokens, (*texts, entry.text)))
    return len(texts) < MAX_RULES and tokens <= MAX_DETECTED_SHARE * window.size


def _lock(conversation: Conversation) -> None:
    locked = Conversation.objects.select_for_update().filter(pk=conversation.pk)
    if not list(locked.values_list("pk")):
        raise NotFound(_("No such conversation."))
    conversation.refresh_from_db(fields=["rules", "noted"])
