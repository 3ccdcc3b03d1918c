"""Recall for one request: passages of the compacted part are looked up, chosen and put before the question.

It takes two queries for a conversation of any length: one for the terms, one for the messages that have most of
them and their neighbours. In a project passages of its other conversations are recalled too, compacted or not, by three
queries more. If the index fails, the turn goes on without recall.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils import timezone

from compression.core.plan.policy import Policy
from compression.core.recall import recall
from compression.core.recall.ranking import rarity
from compression.core.recall.recall import PastMessage, Quote, Recalled
from compression.core.tokens import count_tokens
from compression.core.values import Turn, Window
from conversations.access import IN_PROJECT, takes_part
from conversations.compiled_query import Prepared
from conversations.context import prompt, transcript
from conversations.context.head import Head
from conversations.context.policy import policy_of
from conversations.context.provenance import quoted_places, source_of
from conversations.context.transcript import HISTORY, Loaded
from conversations.memory import message_index
from conversations.memory.index_schema import INDEXED
from conversations.models import Conversation, LedgerEntry, Message
from conversations.runtime.database import is_sqlite

MAX_ASSUMED = 1_000
"""The most messages among which a term counts as rare or common: of the more frequent ones not all are proposed."""
COMMON_WEIGHT = 0.05
"""The factor for terms that most messages have: they only decide between messages that are alike in all others."""
MAX_HITS = 40
"""The most messages that are read for a question, each with its two neighbours."""
MAX_SHORT_CHARS = 200
"""The mean length of messages up to which twice as many are read in a project: they say less each."""
SHARES_IN_A_PROJECT = 3
"""The number of recall shares that passages of a project take at most, this conversation's included."""
LEAST_IN_A_PROJECT = 0.05
"""The share of the best score below which a passage is left out in a project: answers stand in several chats."""
RECENT_MESSAGES = 4
"""The number of messages before the question, two turns, whose names and numbers count."""
COLUMNS = ("role", "name", "content", "created_at", "origin")
CHOSEN = {
    True: "IN (SELECT value FROM json_each('[' || %s || ']'))",
    False: "= ANY(('{' || %s || '}')::bigint[])",
}
"""The condition for ids in a text with commas between, on SQLite (True) and on PostgreSQL."""
BESIDE_IT = {
    True: "IN (hit.number - 1, hit.number, hit.number + 1)",
    False: "= ANY(ARRAY[hit.number - 1, hit.number, hit.number + 1])",  # for a range, or IN, it may read whole tables
}
UNTITLED = "New chat"
REFERENCE = 5
"""The most items of a reference to a passage of the conversation itself."""
MAX_CATCH_UP = 400
"""The most messages that a turn indexes if some of its conversation are not indexed yet; the upkeep does the others."""


MAX_REMEMBERED = 200
"""The most questions whose passages this process caches, for pages that show the next request."""

UNKNOWN = Recalled("", (), "", 0)


class Past(NamedTuple):
    """The messages of a conversation up to its cut, except those that are sent word for word.

    With a `project`, also those of its other conversations: those of the same `owner_id`, and where projects are
    shared, those of the other people in it. A cut of None: nothing is compacted.
    """

    conversation_id: UUID
    cut: datetime | None
    verbatim_ids: Sequence[str]
    project: UUID | None = None
    owner_id: int | None = None


class Room(NamedTuple):
    """The tokens, by our own count, that recalled passages may take: all of them, and those of this conversation."""

    total: int
    own: int


_known: dict[tuple[object, ...], Recalled | None] = {}


def load(conversation_id: UUID) -> Loaded:
    """The conversation loaded for its next request, for display. Raises Conversation.DoesNotExist.

    Passages that were recalled for its latest question are not looked up again.
    """
    loaded = transcript.load(conversation_id)
    known, room = _known.get(_key(loaded), UNKNOWN), room_for(loaded)
    is_known = known is not UNKNOWN and room.total >= recall.MIN_BUDGET_TOKENS
    is_known = is_known and (known is None or known.tokens <= room.total)
    return replace(loaded, recalled=known) if is_known else recalling(loaded, catches_up=False)


def load_for_request(conversation_id: UUID) -> Loaded:
    """The conversation loaded for its next request, for sending. Raises Conversation.DoesNotExist."""
    return recalling(transcript.load(conversation_id))


def recalling(loaded: Loaded, *, catches_up: bool = True) -> Loaded:
    """`loaded` with the passages of its compacted part, and of its project, that bear on the person's latest message.

    With `catches_up`, messages that are not indexed yet are indexed first; nothing is written without it.
    Without passages if nothing is compacted and there is no project, nothing scores, the policy forbids recall, or
    there is no room.
    """
    room = room_for(loaded)
    if room.total < recall.MIN_BUDGET_TOKENS:
        return replace(loaded, recalled=None)
    head = loaded.head
    past = Past(head.id, head.compressed_at, head.verbatim_ids, head.recalls_in, head.owner_id)
    found, is_whole = _looked_up(past, loaded.live, kept=loaded.kept, room=room, catches_up=catches_up)
    if len(_known) >= MAX_REMEMBERED:
        _known.clear()
    if is_whole:
        _known[_key(loaded)] = found
    return replace(loaded, recalled=found)


def found_in(
    past: Past, live: Sequence[Turn], *, room: Room, catches_up: bool = True, quoted: Sequence[Quote] = ()
) -> Recalled | None:
    """The passages of the past that match the latest question among the `live` turns; None if there are none.

    Messages that are sent are not quoted, nor is what overlaps a `quoted` passage. A fault of the index is reported,
    and nothing is recalled.
    """
    if room.total < recall.MIN_BUDGET_TOKENS:
        return None
    return _looked_up(past, live, room=room, catches_up=catches_up, quoted=quoted)[0]


def _looked_up(
    past: Past,
    live: Sequence[Turn],
    *,
    kept: Sequence[Turn] = (),
    room: Room,
    catches_up: bool,
    quoted: Sequence[Quote] = (),
) -> tuple[Recalled | None, bool]:
    """(the passages, whether all messages were indexed where they were looked for)."""
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            return _recalled(past, live, {turn.id for turn in (*kept, *live)}, room, catches_up, quoted)
    except DatabaseError as error:
        message_index.report(error)
        return None, False


def _key(loaded: Loaded) -> tuple[object, ...]:
    head, question = loaded.head, recall.question_of(loaded.live)
    asked = question and (question.id, question.content)
    return head.id, head.compressed_at, tuple(head.verbatim_ids), head.recalls_in, asked


def _recalled(
    past: Past, live: Sequence[Turn], sent: Set[str], room: Room, catches_up: bool, quoted: Sequence[Quote]
) -> tuple[Recalled | None, bool]:
    question = recall.question_of(live)
    if question is None:
        return None, True
    before = live[: live.index(question)][-RECENT_MESSAGES:]
    texts = [turn.content for turn in before]
    weights = recall.query_of(question.content, texts) | recall.days_of(question)
    messages, counts, is_whole = _proposed(past, list(weights), catches_up)
    among = max((one.number or 0 for one in messages), default=0) + len(live)
    if past.project:
        others, more = _of_project(past, list(weights))
        messages, among = [*messages, *others], among + MAX_ASSUMED
        counts = {term: counts.get(term, 0) + more[term] for term in weights}
    quotes = recall.chosen(
        [one for one in messages if one.id not in sent],
        weights,
        counts=counts,
        among=among,
        budget=room.total,
        count=count_tokens,
        quoted=quoted,
        own_budget=room.own,
        least=LEAST_IN_A_PROJECT if past.project else recall.MIN_SCORE_SHARE,
        language=recall.language_of(question.content, texts),
        question=question.content,
    )
    found = recall.recalled(question.id, quotes, count_tokens)
    return found if found and found.tokens <= room.total else None, is_whole


def room_for(loaded: Loaded) -> Room:
    """The room for recalled passages; none if recall is off."""
    head = loaded.head
    is_ours = head.kind != Conversation.Kind.GATEWAY  # a call of the gateway has its own: `gateway.passages`
    nowhere = head.compressed_at is None and head.recalls_in is None
    policy = project_policy(head)
    if not is_ours or nowhere or head.window is None or not policy.recall:
        return Room(0, 0)
    usage = loaded.usage(system_tokens=prompt.system_tokens(head))
    assert usage is not None
    room = int((head.window.budget - (usage.total - usage.recalled) - 1) / head.window.correction)
    covered, summaries = head.covered_tokens, head.compressed_tokens
    own = policy_of(head).recall_budget(head.window, covered=covered, summaries=summaries)
    own = max(0, min(own, room))
    is_alone = head.recalls_in is None
    return Room(own, own) if is_alone else room_beside(policy, head.window, usage.total - usage.recalled, own=own)


def project_policy(head: Head) -> Policy:
    """The policy by which passages of a project are recalled.

    Agents and their executors recall nothing of their own history, which their tools search. Those tools find nothing
    of the project's other conversations, so these are recalled, unless the person switched recall off.
    """
    policy = policy_of(head)
    has_tools = head.kind in (Conversation.Kind.AGENT, Conversation.Kind.EXECUTOR)
    is_usual = "recall" not in head.policy and "preset" not in head.policy
    return replace(policy, recall=True) if has_tools and head.recalls_in and is_usual else policy


def room_beside(policy: Policy, window: Window, rest: int, *, own: int) -> Room:
    """The room for passages of a project beside the `rest` of a request, in the model's tokens.

    `own` is the part of passages of the conversation itself. What other conversations say never makes this one compact:
    they have the room below the threshold.
    """
    full = min(policy.full_at * policy.bounded(window).size, window.budget)
    spare = int((full - rest - 1) / window.correction)
    return Room(max(own, min(policy.recall_budget(window, shares=SHARES_IN_A_PROJECT), spare)), own)


def noted(found: Recalled) -> dict[str, Any]:
    """The references that are stored with a reply, from which `put_together` makes the same text again."""
    return {"before": found.before, "quotes": [_reference(quote) for quote in found.quotes]}


def _reference(quote: Quote) -> list[Any]:
    """[message, number, start, end], then the day on which a rule was taken back, then the other conversation, its
    title, and the name of who wrote it, if there is one.
    """
    source = quote.source
    reference: list[Any] = [source.id, source.number, quote.start, quote.end]
    if source.conversation_id:
        name = [source.name] if source.name else []
        return [*reference, source.taken_back, source.conversation_id, source.conversation, *name]
    return [*reference, source.taken_back] if source.taken_back else reference


def put_together(conversation_id: UUID, note: dict[str, Any]) -> Recalled | None:
    """The passages of stored references, from the messages as they are; None if one of the messages is gone."""
    return next(iter(all_put_together(conversation_id, [note])), None)


def all_put_together(
    conversation_id: UUID, notes: Sequence[dict[str, Any]], elsewhere: Q | None = None
) -> tuple[Recalled, ...]:
    """The passages of several stored references, by one query; () if one of the messages is gone.

    Those of other conversations are looked for among the messages `elsewhere`; None: those that the owner may read.
    """
    ids = {id for note in notes for id, *_ in note["quotes"]}
    readable = Q(conversation_id=conversation_id)
    if any(len(quote) > REFERENCE for note in notes for quote in note["quotes"]):
        readable |= elsewhere if elsewhere is not None else _readable_with(conversation_id)
    rows = Message.objects.filter(readable, pk__in=ids)
    found = {str(row[0]): row for row in rows.values_list("pk", *COLUMNS)} if ids else {}
    if set(found) != ids:
        return ()
    made = []
    for note in notes:
        quotes = [
            Quote(_referred(_past_message(id, number, *found[id][1:]), *more), start, end)
            for id, number, start, end, *more in note["quotes"]
        ]
        made.append(recall.recalled(note["before"], quotes, count_tokens))
    return tuple(filter(None, made))


def _readable_with(conversation_id: UUID) -> Q:
    """Messages that a conversation's owner may read as passages: their own, and those of its project, while shared."""
    here = Conversation.objects.filter(pk=conversation_id)
    own = Q(conversation__owner__in=here.values("owner_id"))
    project = here.filter(takes_part()).values("project_id")
    return own | shared_in(Q(project__in=project)) if settings.SHARED_PROJECTS else own


def shared_in(which: Q) -> Q:
    """The messages of those conversations among these whose passages other conversations of their project get."""
    return Q(conversation__in=_sharing(which).values("pk"))


def _sharing(which: Q) -> QuerySet[Conversation]:
    """The conversations whose passages other conversations of their project get."""
    return Conversation.objects.filter(which, takes_part(), shares_memory=True, trashed_at=None, kind__in=IN_PROJECT)


def _referred(
    source: PastMessage, back: str | bool = "", conversation_id: str = "", title: str = "", name: str = ""
) -> PastMessage:
    """The message as it was quoted. Older references have True in place of a day."""
    speaker = name or source.name
    day = recall.SINCE if back is True else back or ""
    return replace(source, taken_back=day, conversation_id=conversation_id, conversation=title, name=speaker)


def _of_project(past: Past, terms: list[str]) -> tuple[list[PastMessage], dict[str, int]]:
    """(messages of the project's other conversations with most of the terms, and their neighbours; the number of
    messages with each term). At most four queries.
    """
    assert past.project is not None
    proposed = message_index.propose(message_index.of_project(past.project), terms)
    weights = [rarity(count, MAX_ASSUMED) for count in proposed.counts]
    counts = dict(zip(terms, proposed.counts, strict=True))
    if not (hits := proposed.best(weights, 2 * MAX_HITS)):
        return [], counts
    first, more = hits[:MAX_HITS], hits[MAX_HITS:]
    rows = BESIDE.rows(entries=",".join(map(str, first)), cut=timezone.now())
    place = 3 + COLUMNS.index("content")
    if more and sum(len(row[place]) for row in rows) < MAX_SHORT_CHARS * len(rows):
        rows = BESIDE.rows(entries=",".join(map(str, hits)), cut=timezone.now())
    there = {row[0] for row in rows} - {past.conversation_id}
    sharing = _sharing(Q(pk__in=there, project=past.project))
    if not settings.SHARED_PROJECTS:
        sharing = sharing.filter(owner=past.owner_id)
    sources = {row.pk: row for row in sharing.select_related("owner").only("title", "owner__username")}
    return [
        _of_another(_past_message(str(pk), *rest), sources[id], past.owner_id)
        for id, pk, *rest in rows
        if id in sources
    ], counts


def _of_another(message: PastMessage, source: Conversation, owner_id: int | None) -> PastMessage:
    """A message with the conversation that it is from, and with its writer's name if that is another person."""
    is_own = source.owner_id == owner_id or message.role != Message.Role.USER
    return replace(
        message,
        conversation_id=str(source.pk),
        conversation=source.title or UNTITLED,
        name=message.name if message.name or is_own else source.owner.get_username(),
    )


def _proposed(past: Past, terms: list[str], catches_up: bool) -> tuple[list[PastMessage], dict[str, int], bool]:
    """(messages up to the cut with most of the terms, and their neighbours; the number of messages with each term;
    whether all messages up to the cut are indexed).
    """
    if past.cut is None:
        return [], {}, True
    id = past.conversation_id
    scope = message_index.of_conversation(id)
    within = (id, past.cut)  # what is newer is sent whole, and the upkeep indexes it
    proposed = message_index.propose(scope, terms, within=within)
    if catches_up and proposed.is_behind and message_index.catch_up(id, most=MAX_CATCH_UP):
        proposed = message_index.propose(scope, terms, within=within)
    counts = dict(zip(terms, proposed.counts, strict=True))
    common = recall.COMMON_SHARE * proposed.total
    among = min(proposed.total, MAX_ASSUMED)
    weights = [rarity(count, among) * (COMMON_WEIGHT if count > common else 1) for count in proposed.counts]
    hits = proposed.best(weights, MAX_HITS)
    return (_read(past, hits) if hits else []), counts, not proposed.is_behind


def _read(past: Past, entries: list[int]) -> list[PastMessage]:
    """The messages of these entries and their neighbours up to the cut, without those that are sent verbatim."""
    rows = BESIDE.rows(entries=",".join(map(str, entries)), cut=cast(datetime, past.cut))
    own = [(str(pk), *rest) for conversation_id, pk, *rest in rows if conversation_id == past.conversation_id]
    return [_past_message(*row) for row in own if row[0] not in past.verbatim_ids]


def _beside(entries: str, cut: datetime) -> QuerySet[Message, Any]:
    """The rows of these entries and their neighbours. They are found by ids alone: with the conversation in the query,
    SQLite would read all of it.
    """
    near = (
        f"SELECT beside.message_id FROM {INDEXED} AS hit JOIN {INDEXED} AS beside "
        f"ON beside.conversation_id = hit.conversation_id AND beside.number {BESIDE_IT[is_sqlite()]} "
        f"WHERE hit.id {CHOSEN[is_sqlite()]}"
    )
    number = RawSQL(f"(SELECT number FROM {INDEXED} WHERE message_id = conversations_message.id)", ())
    rows = Message.objects.filter(HISTORY, pk__in=RawSQL(near, (entries,)), created_at__lte=cut).order_by()
    later = LedgerEntry.objects.filter(pk=OuterRef("superseded_by")).values("said_at")[:1]
    gone = LedgerEntry.objects.filter(
        conversation=OuterRef("conversation"), message=OuterRef("pk"), state=LedgerEntry.State.SUPERSEDED
    ).values(day=Coalesce(Subquery(later), "decided_at"))
    columns = ("conversation_id", "pk", "number", *COLUMNS, "taken_back")
    return rows.annotate(number=number, taken_back=Subquery(gone[:1])).values_list(*columns)


def _past_message(
    id: str,
    number: int | None,
    role: str,
    name: str,
    content: str,
    created_at: datetime,
    origin: dict[str, Any] | None,
    taken_back: datetime | None = None,
) -> PastMessage:
    origin_, quoted = source_of(origin), quoted_places(origin)
    day = f"{taken_back:%Y-%m-%d}" if taken_back else ""
    return PastMessage(id, number, role, name, content, created_at, origin_, quoted, day)


BESIDE = Prepared(
    _beside,
    entries=(TextField(), "1,2,3"),
    cut=(Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
)
