"""Copies the request records of copied replies, so that they name the copied messages.

A record names messages by their ids and dates. The records of a history's replies name only messages of that history;
so must the records of the copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from compression.core.context import render_context
from compression.models import Checkpoint
from compression.records import value_of
from conversations.models import Conversation, Message, Wording
from conversations.requests.request_log import text_digest

Noted = dict[str, Any]
Ids = dict[str, str]
"""Ids of messages -> ids of their copies."""
Moments = dict[datetime, datetime]
"""Dates of messages -> dates of their copies."""
DATES = ("after", "up_to")


def carry_to_fork(rows: Sequence[Message], source: Conversation, copy: Conversation, ids: Ids) -> None:
    """Have the records of `rows`, unsaved copies for the conversation `copy`, name the copies; copy their texts too.

    The copies have the dates of the originals. Summaries are stored as texts of the copy, because most of the
    checkpoints that they came from are not copied, and the copied ones get new numbers. A constant number of queries.
    """
    requests = [row.request for row in rows if row.request]
    if not requests:
        return
    summaries = _summaries(source, requests)
    for row in rows:
        if row.request:
            row.request = _renamed(row.request, ids, {}) | _own_summary(row.request, summaries)
    texts = {text_digest(text): text for text in summaries.values()}
    digests = {digest for noted in requests for digest in _wordings_of(noted)}
    known = Wording.objects.filter(conversation=source, digest__in=digests)
    texts |= dict(known.values_list("digest", "text"))
    Wording.objects.bulk_create(
        [Wording(conversation=copy, digest=digest, text=text) for digest, text in texts.items()], ignore_conflicts=True
    )


def carry_to_end(rows: Sequence[Message], current: Message, ids: Ids, moments: Moments) -> None:
    """Make the records of `rows` refer to the copies; `rows` will replace `current` and all later messages of its
    conversation.

    `ids` and `moments` map the messages copied so far. Earlier messages that a record names may have been replaced by
    copies since; these are added to `ids` and `moments`. Three queries at most.
    """
    asked = [row.request for row in rows if row.request]
    named = {id for noted in asked for id in _ids_of(noted)} - ids.keys()
    dated = {moment for noted in asked for moment in _moments_of(noted)} - moments.keys()
    earlier_ids, earlier_moments = _standing(current, named, dated)
    ids |= earlier_ids
    moments |= earlier_moments
    for row in rows:
        if row.request:
            row.request = _renamed(row.request, ids, moments)


def _renamed(noted: Noted, ids: Mapping[str, str], moments: Mapping[datetime, datetime]) -> Noted:
    dates = {name: datetime.fromisoformat(noted[name]) for name in DATES if noted[name]}
    return (
        noted
        | {name: [ids.get(id, id) for id in noted[name]] for name in ("kept", "protected")}
        | {"elided": {ids.get(id, id): tokens for id, tokens in noted["elided"].items()}}
        | {name: moments.get(moment, moment).isoformat() for name, moment in dates.items()}
        | ({"recalled": _recalled(noted["recalled"], ids)} if "recalled" in noted else {})
    )


def _recalled(noted: Noted, ids: Mapping[str, str]) -> Noted:
    """A record's recalled passages with the ids of the copied messages."""
    quotes = [[ids.get(id, id), *place] for id, *place in noted["quotes"]]
    return {"before": ids.get(noted["before"], noted["before"]), "quotes": quotes}


def _standing(current: Message, named: set[str], dated: set[datetime]) -> tuple[Ids, Moments]:
    """The copies, in the history before `current`, of replaced messages: by the ids and by the dates of the latter."""
    own = Message.objects.filter(conversation_id=current.conversation_id)
    replaced = own.filter(replaced_by__isnull=False).values_list("pk", "created_at", "copy_of")
    left = [*replaced.filter(created_at__in=dated)] if dated else []
    left += replaced.filter(pk__in=named) if named else ()
    if not left:
        return {}, {}
    first = {pk: origin or pk for pk, _, origin in left}
    history = own.filter(replaced_by=None, created_at__lt=current.created_at, copy_of__in=set(first.values()))
    found = {origin: (pk, moment) for pk, moment, origin in history.values_list("pk", "created_at", "copy_of")}
    there = [(pk, moment, *found[first[pk]]) for pk, moment, _ in left if first[pk] in found]
    return {str(old): str(new) for old, _, new, _ in there}, {then: now for _, then, _, now in there}


def _summaries(source: Conversation, requests: Sequence[Noted]) -> dict[tuple[int, ...], str]:
    """The summary texts of requests by their checkpoints' numbers, as far as these checkpoints still exist."""
    chosen = {tuple(noted["checkpoints"]) for noted in requests if noted["checkpoints"] and "summary" not in noted}
    if not chosen:
        return {}
    rows = Checkpoint.objects.filter(conversation=source, number__in=set().union(*chosen))
    values = {row.number: value_of(row) for row in rows}
    there = [numbers for numbers in chosen if values.keys() >= set(numbers)]
    return {numbers: render_context(values[number] for number in numbers) for numbers in there}


def _own_summary(noted: Noted, summaries: Mapping[tuple[int, ...], str]) -> Noted:
    """The fields of a copied record that identify its summary text; a lost text leaves the record no checkpoints."""
    if not noted["checkpoints"] or "summary" in noted:
        return {}
    text = summaries.get(tuple(noted["checkpoints"]))
    return {"checkpoints": None} if text is None else {"summary": text_digest(text)}


def _wordings_of(noted: Noted) -> Iterator[str]:
    yield from (noted[name] for name in ("system", "tools", "summary") if noted.get(name))


def _ids_of(noted: Noted) -> Iterator[str]:
    yield from noted["kept"]
    yield from noted["protected"]
    yield from noted["elided"]
    if recalled := noted.get("recalled"):
        yield recalled["before"]
        yield from (id for id, *_ in recalled["quotes"])


def _moments_of(noted: Noted) -> Iterator[datetime]:
    yield from (datetime.fromisoformat(noted[name]) for name in DATES if noted[name])
