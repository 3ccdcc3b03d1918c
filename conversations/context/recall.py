"""Recall for one request: what the index proposes of the compacted part, read, chosen and put before the question.

Two queries, whatever the length of the conversation: the terms are looked up, and the messages that have most of them
are read with those beside them. Whatever is wrong with the index, the turn goes on without.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet, TextField
from django.db.models.expressions import RawSQL

from compression.core import recall
from compression.core.ranking import rarity
from compression.core.recall import Quote, Recalled, Said
from compression.core.tokens import count_tokens
from conversations.context import message_index, prompt, transcript
from conversations.context.head import Head
from conversations.context.index_schema import INDEXED
from conversations.context.policy import policy_of
from conversations.context.provenance import quoted_places, source_of
from conversations.context.transcript import HISTORY, Loaded
from conversations.models import Conversation, Message
from conversations.runtime.compiled_query import Prepared
from conversations.runtime.database import is_sqlite

AMONG = 1_000
"""Messages that a term is thought to be rare or common among."""
HITS = 40
"""Messages that are read, each with the ones beside it."""
RECENT = 4
"""Messages before the question whose names and numbers count: two turns."""
COLUMNS = ("role", "name", "content", "created_at", "origin")
ANY = "= ANY(('{' || %s || '}')::bigint[])"
CATCH_UP = 400
"""Messages that a turn indexes at most where some of its conversation were not yet; upkeep does the rest."""


REMEMBERED = 200
"""Questions whose passages this process knows, for whoever looks at what was sent."""

UNKNOWN = Recalled("", (), "", 0)

_known: dict[tuple[object, ...], Recalled | None] = {}


def load(conversation_id: UUID) -> Loaded:
    """A conversation as its next request is made of it, to be looked at. Raises Conversation.DoesNotExist.

    What was recalled for its latest question already is not looked for again: what the question and the compacted part
    say does not change.
    """
    loaded = transcript.load(conversation_id)
    known, room = _known.get(_key(loaded), UNKNOWN), room_for(loaded)
    is_known = known is not UNKNOWN and room >= recall.LEAST_BUDGET and (known is None or known.tokens <= room)
    return replace(loaded, recalled=known) if is_known else recalling(loaded)


def load_for_request(conversation_id: UUID) -> Loaded:
    """A conversation as its next request is made of it, to be sent. Raises Conversation.DoesNotExist."""
    return recalling(transcript.load(conversation_id))


def recalling(loaded: Loaded) -> Loaded:
    """The same, with the passages of its compacted part that bear on the latest message of the person.

    None where nothing is compacted, nothing scores, the policy says no, or there is no room: they give way first.
    """
    budget = room_for(loaded)
    if budget < recall.LEAST_BUDGET:
        return replace(loaded, recalled=None)
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            found = _recalled(loaded, budget)
    except DatabaseError as error:
        message_index.report(error)
        return replace(loaded, recalled=None)
    if len(_known) >= REMEMBERED:
        _known.clear()
    _known[_key(loaded)] = found
    return replace(loaded, recalled=found)


def _key(loaded: Loaded) -> tuple[object, ...]:
    head, question = loaded.head, recall.question_of(loaded.live)
    return head.id, head.compressed_at, tuple(head.verbatim_ids), question and (question.id, question.content)


def _recalled(loaded: Loaded, budget: int) -> Recalled | None:
    question = recall.question_of(loaded.live)
    if question is None:
        return None
    before = loaded.live[: loaded.live.index(question)][-RECENT:]
    weights = recall.query_of(question.content, (turn.content for turn in before))
    said, counts = _proposed(loaded.head, list(weights))
    sent = {turn.id for turn in loaded.turns}
    quotes = recall.chosen(
        [one for one in said if one.id not in sent],
        weights,
        counts=counts,
        among=max((one.number or 0 for one in said), default=0) + len(loaded.live),
        budget=budget,
        count=count_tokens,
    )
    found = recall.recalled(question.id, quotes, count_tokens)
    return found if found and found.tokens <= budget else None


def room_for(loaded: Loaded) -> int:
    """Tokens, by our own count, that recalled passages may take; 0 where nothing is to be recalled."""
    head = loaded.head
    is_ours = head.kind != Conversation.Kind.GATEWAY  # a gateway's caller says what its model is sent
    if not is_ours or head.compressed_at is None or head.window is None or not policy_of(head).recall:
        return 0
    usage = loaded.usage(system_tokens=prompt.system_tokens(head))
    assert usage is not None
    room = int((head.window.budget - (usage.total - usage.recalled) - 1) / head.window.correction)
    return max(0, min(policy_of(head).recall_budget(head.window), room))


def noted(found: Recalled) -> dict[str, Any]:
    """What is kept of it with the reply, to put the same together again."""
    quotes = [[quote.said.id, quote.said.number, quote.start, quote.end] for quote in found.quotes]
    return {"before": found.before, "quotes": quotes}


def put_together(conversation_id: UUID, note: dict[str, Any]) -> Recalled | None:
    """What was noted, from the messages as they are; None where one of them is not there any more."""
    ids = {id for id, *_ in note["quotes"]}
    rows = Message.objects.filter(conversation_id=conversation_id, pk__in=ids)
    found = {str(row[0]): row for row in rows.values_list("pk", *COLUMNS)}
    if set(found) != ids:
        return None
    quotes = [
        Quote(_said(id, number, *found[id][1:]), start, end)  # one object for each would not be told from one for all
        for id, number, start, end in note["quotes"]
    ]
    return recall.recalled(note["before"], quotes, count_tokens)


def _proposed(head: Head, terms: list[str]) -> tuple[list[Said], dict[str, int]]:
    """Messages up to the cut that have most of the terms, with those beside them, and how many have each term."""
    scope = message_index.of_conversation(head.id)
    proposed = message_index.propose(scope, terms, behind=head.id)
    if proposed.is_behind and message_index.catch_up(head.id, most=CATCH_UP):
        proposed = message_index.propose(scope, terms)
    counts = dict(zip(terms, proposed.counts, strict=True))
    weights = [rarity(count, AMONG) for count in proposed.counts]
    hits = proposed.best(weights, HITS)
    return (_read(head, hits) if hits else []), counts


def _read(head: Head, entries: list[int]) -> list[Said]:
    """The messages of these entries and their neighbours, up to the cut: those that are not sent word for word."""
    cut = cast(datetime, head.compressed_at)
    rows = BESIDE.rows(entries=",".join(map(str, entries)), cut=cut)
    said = (_said(str(pk), *rest) for conversation_id, pk, *rest in rows if conversation_id == head.id)
    return [one for one in said if one.id not in head.verbatim_ids]


def _beside(entries: str, cut: datetime) -> QuerySet[Message, Any]:
    """By ids alone: with the conversation in it, SQLite would read all of that in search of them."""
    chosen = "IN (SELECT value FROM json_each('[' || %s || ']'))" if is_sqlite() else ANY
    near = (
        f"SELECT beside.message_id FROM {INDEXED} AS hit JOIN {INDEXED} AS beside "
        "ON beside.conversation_id = hit.conversation_id AND beside.number BETWEEN hit.number - 1 AND hit.number + 1 "
        f"WHERE hit.id {chosen}"
    )
    number = RawSQL(f"(SELECT number FROM {INDEXED} WHERE message_id = conversations_message.id)", ())
    rows = Message.objects.filter(HISTORY, pk__in=RawSQL(near, (entries,)), created_at__lte=cut).order_by()
    return rows.annotate(number=number).values_list("conversation_id", "pk", "number", *COLUMNS)


def _said(
    id: str, number: int | None, role: str, name: str, content: str, created_at: datetime, origin: dict[str, Any] | None
) -> Said:
    return Said(id, number, role, name, content, created_at, source_of(origin), quoted_places(origin))


BESIDE = Prepared(
    _beside,
    entries=(TextField(), "1,2,3"),
    cut=(Message._meta.get_field("created_at"), datetime(1, 1, 2, tzinfo=UTC)),
)
