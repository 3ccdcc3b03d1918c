"""Looks messages up for a query, the best first: reads the messages that the index proposes and ranks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet

from compression.core.recall.ranking import bm25, occurrences, rarity
from compression.core.text.index_terms import folded, index_terms, joined_word, joined_words, says_little
from compression.core.text.language import likely_language
from conversations.memory import message_index
from conversations.messages.search_terms import phrases_of, terms_of
from conversations.models import Message, ToolCall

MAX_RANKED = 200
"""The most messages that are read and ranked for a query, and so the most that it finds."""
MAX_TERMS = 16
"""The most terms of a query that are looked up in the index: the longest."""
CHARACTERS_OF_A_LINE = 60
"""Lengths are compared in lines of this size, so that of messages of nearly equal length the later comes first."""
ASSUMED_MESSAGES = 10_000
"""The assumed number of messages, by which a term counts as rare or common."""
MIN_BEGINNING_CHARS = 2
"""The least letters of an unfinished last word that is looked up as a word's beginning."""
_PLAIN = re.compile(r"[^\W_]+\Z")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: any of the `terms`, and all of the `literal` texts, which must occur verbatim in any case.

    `literal` maps each text to the single word that may stand in its place; "" if none may.
    """

    terms: tuple[str, ...]
    literal: dict[str, str]
    last: str = ""
    """The term of the last word, which may be unfinished."""
    language: str = ""
    """The language whose stems the words are compared by; "": English."""


def parsed(query: str) -> Query:
    """Parse a query into terms and literal texts; phrases in quotes and words with signs in them are literal.

    A compound or a grouped number without quotes may also be written as one word: "e-mail" finds "email".
    """
    parts, phrases, language = terms_of(query), phrases_of(query), likely_language(query)
    found = dict.fromkeys(term for part in parts for term in index_terms(part, language))
    telling = [term for term in found if not says_little(term, language)] or list(found)
    longest = set(sorted(telling, key=len, reverse=True)[:MAX_TERMS])
    signed = [part for part in parts if not _PLAIN.match(part)]
    literal = {folded(part): "" if part in phrases else joined_word(folded(part)) for part in signed}
    words = index_terms(parts[-1], "") if parts and _PLAIN.match(parts[-1]) else []
    return Query(tuple(term for term in telling if term in longest), literal, words[-1] if words else "", language)


def best(
    rows: QuerySet[Message], query: str, *, scope: str, is_own: Callable[[Message], bool], within: UUID | None = None
) -> list[Message] | None:
    """The rows for a query that `is_own` accepts: at most POOL, the best first; among equals the latest first.

    The owner is checked after a row was read by its id: with the owner or the conversation in the query, SQLite would
    read all of their rows in search of a few. `within` a conversation, its tools' results are searched too.
    None if the index has no answer: the query has no terms, the index proposes nothing, or the index is broken.
    """
    asked = parsed(query)
    if not asked.terms:
        return None
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            message_index.catch_up(within)
            proposed = _proposed(scope, asked)
    except DatabaseError as error:
        message_index.report(error)
        return None
    if not any(proposed.counts):
        return None
    weights = [rarity(count, ASSUMED_MESSAGES) for count in proposed.counts]
    pool = proposed.best(weights, MAX_RANKED)
    read = [row for row in rows.filter(pk__in=message_index.messages_of(pool)).order_by() if is_own(row)]
    return _ranked(read, asked, dict(zip(asked.terms, weights, strict=True)), results=within is not None) or None


def _proposed(scope: str, asked: Query) -> message_index.IndexMatches:
    proposed = message_index.propose(scope, asked.terms)
    if asked.last not in asked.terms or len(asked.last) < MIN_BEGINNING_CHARS:
        return proposed
    place = asked.terms.index(asked.last)
    if proposed.counts[place]:
        return proposed
    more = message_index.propose(scope, [asked.last], begins=True)
    return message_index.IndexMatches((*proposed.postings[:place], *more.postings, *proposed.postings[place + 1 :]))


def _ranked(rows: Sequence[Message], asked: Query, weights: dict[str, float], *, results: bool) -> list[Message]:
    texts = _texts(rows, results=results)
    rows = [row for row in rows if all(_has(texts[row.pk], *one) for one in asked.literal.items())]
    lengths = {row.pk: ceil(len(texts[row.pk]) / CHARACTERS_OF_A_LINE) for row in rows}
    usual = sum(lengths.values()) / max(len(rows), 1)
    scores: dict[UUID, float] = {}
    for row in rows:
        text = texts[row.pk]
        counts = {term: len(occurrences(text, term, language=asked.language)) for term in asked.terms}
        if not any(counts.values()):
            counts = _by_reading(text, asked)
        scores[row.pk] = round(bm25(counts, weights, length=lengths[row.pk], usual=usual), 6)
    found = [row for row in rows if scores[row.pk] > 0]
    return sorted(found, key=lambda row: (scores[row.pk], row.conversation.updated_at, row.created_at), reverse=True)


def _has(text: str, literal: str, word: str) -> bool:
    """Whether a text contains the literal text, or the single word that may replace it ("": none)."""
    return literal in text or bool(word and re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text))


def _by_reading(text: str, asked: Query) -> dict[str, int]:
    """The counts for a text without a literal occurrence of any term.

    It may have decomposed accents, or only the beginning of a word in common with the query.
    """
    there = set(index_terms(text))
    return {
        term: int(term in there or (term == asked.last and any(one.startswith(term) for one in there)))
        for term in asked.terms
    }


def _texts(rows: Sequence[Message], *, results: bool) -> dict[UUID, str]:
    """The searched text of each message: its speaker's name, its content and, with `results`, its tools' results.

    Its compounds and grouped numbers follow as single words.
    """
    texts = {row.pk: folded(f"{row.name}\n{row.content}") for row in rows}
    if results:
        calls = ToolCall.objects.filter(message__in=texts).exclude(name__in=message_index.LOOKUP_TOOLS)
        for message, result in calls.values_list("message_id", "result"):
            texts[message] += "\n" + folded(result or "")
    return {message: "\n".join((text, *joined_words(text))) for message, text in texts.items()}
