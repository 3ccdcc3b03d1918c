"""Searches all of a person's conversations: their titles, and every message, compacted or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from conversations.access import CHATS, own_conversations
from conversations.memory.message_index import is_behind, of_owner
from conversations.messages import lookup
from conversations.messages.cursors import microseconds, moment_at, not_ours
from conversations.messages.history import State, state_of
from conversations.messages.search_terms import contains, excerpt, marks, terms_of
from conversations.models import Conversation, Message
from conversations.runtime.substring_lookup import time_limit
from conversations.validation import clean_text

LIMIT = 30
"""Hits of one page."""
MAX_QUERY_CHARS = 200
"""Characters of a query."""
RANK = re.compile(r"best\.(\d{1,6})", re.ASCII)
"""The cursor of a ranked page: the number of hits before the next page."""
CURSOR = re.compile(r"(-?\d{1,17})\.([0-9a-f]{32})\.(-?\d{1,17})?", re.ASCII)
CONVERSATION = ("title", "kind", "archived", "updated_at", "compressed_at", "verbatim_ids")
MESSAGE = ("role", "name", "content", "created_at", "is_protected", "replaced_by")


class SnippetPart(NamedTuple):
    """A piece of a snippet; `is_found` marks a word of the query."""

    text: str
    is_found: bool


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A found message, or (None) a conversation found by its title; `pieces` are its excerpt, with the found words."""

    conversation: Conversation
    message: Message | None
    pieces: tuple[SnippetPart, ...]

    @property
    def state(self) -> State | None:
        return state_of(self.conversation, self.message) if self.message else None

    @property
    def snippet(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Found:
    """One page of hits; `next` is the `after` of the next page (None: this is the last one).

    `is_incomplete`: the index is behind, so that messages may be missing.
    """

    hits: tuple[SearchHit, ...]
    next: str | None = None
    is_ranked: bool = False
    is_incomplete: bool = False


class SearchCursor(NamedTuple):
    """The end of a page: a message (dated `said_at`), or a conversation's title (`said_at` is None)."""

    updated_at: datetime
    conversation_id: UUID
    said_at: datetime | None


def find_hits(
    user: AbstractBaseUser | AnonymousUser, query: str, *, after: str | None = None, limit: int = LIMIT
) -> Found:
    """The hits of `query`: titles with all of its words, by their conversation's last change; then messages.

    The index ranks messages, the best first: any of the words, in any form, makes a hit; "words in quotes" and words
    with signs in them must occur verbatim, in any case. If the index finds nothing, messages that contain all words
    anywhere are found, the latest first. Replaced messages are not found.
    Raises Invalid for a query that is too long, no text, or takes too long, and for an `after` that no page returned.
    """
    query = clean_text("q", query, limit=MAX_QUERY_CHARS, allow_blank=True)
    terms = terms_of(query)
    if ranked := RANK.fullmatch(after or ""):
        return _ranked(user, query, terms, int(ranked[1]), limit) if terms else Found(())
    place = _read(after) if after else None
    if not terms:
        return Found(())
    rows: list[Conversation | Message] = []
    with time_limit("q"):
        if place is None or place.said_at is None:
            rows += _titles(user, terms, place)[: limit + 1]
            place = None
            if len(rows) <= limit and (found := _ranked(user, query, terms, 0, limit - len(rows))).is_ranked:
                titles = tuple(_hit(row, terms) for row in rows)
                return replace(found, hits=titles + found.hits)
        if len(rows) <= limit:
            rows += _messages(user, terms, place)[: limit + 1 - len(rows)]
    hits = tuple(_hit(row, terms) for row in rows[:limit])
    return Found(hits, _write(hits[-1]) if len(rows) > limit else None)


def _ranked(user: AbstractBaseUser | AnonymousUser, query: str, terms: list[str], start: int, limit: int) -> Found:
    """A page of ranked messages from number `start` on; `is_ranked` is False if the index finds nothing."""

    def is_own(row: Message) -> bool:
        of = row.conversation
        return of.owner_id == user.pk and of.kind in CHATS and of.trashed_at is None

    said = Message.objects.filter(replaced_by=None).select_related("conversation")
    said = said.only(
        *MESSAGE,
        "conversation__owner_id",
        "conversation__trashed_at",
        *(f"conversation__{name}" for name in CONVERSATION),
    )
    rows = lookup.best(said, query, scope=of_owner(user.pk or 0), is_own=is_own)
    if rows is None:
        return Found((), is_ranked=start > 0)
    page = rows[start : start + limit]
    hits = tuple(_hit(row, terms) for row in page)
    following = f"best.{start + limit}" if len(rows) > start + limit else None
    return Found(hits, following, is_ranked=True, is_incomplete=is_behind())


def _titles(
    user: AbstractBaseUser | AnonymousUser, terms: list[str], after: SearchCursor | None
) -> QuerySet[Conversation]:
    rows = own_conversations(user).filter(contains("title", terms))
    if after:
        rows = rows.filter(_beyond(after, at=""))
    return rows.order_by("-updated_at", "-id").only(*CONVERSATION)


def _messages(
    user: AbstractBaseUser | AnonymousUser, terms: list[str], after: SearchCursor | None
) -> QuerySet[Message]:
    """Messages that contain all terms, by their conversation's last change, the latest first.

    The join lets the database walk the indices of a person's conversations and their messages; with a subquery for
    their ids, it would sort all hits.
    """
    own = Q(conversation__owner_id=user.pk, conversation__kind__in=CHATS, conversation__trashed_at=None)
    rows = Message.objects.filter(own, contains("content", terms), replaced_by=None)
    if after:
        earlier = Q(conversation_id=after.conversation_id, created_at__lt=after.said_at)
        rows = rows.filter(_beyond(after, at="conversation__") | earlier)
    rows = rows.order_by("-conversation__updated_at", "-conversation_id", "-created_at")
    return rows.select_related("conversation").only(*MESSAGE, *(f"conversation__{name}" for name in CONVERSATION))


def _beyond(after: SearchCursor, *, at: str) -> Q:
    """The condition for conversations after the place in the order; `at` is the path to the conversation."""
    same = Q(**{f"{at}updated_at": after.updated_at, f"{at}id__lt": after.conversation_id})
    return Q(**{f"{at}updated_at__lt": after.updated_at}) | same


def _hit(row: Conversation | Message, terms: list[str]) -> SearchHit:
    if isinstance(row, Message):
        return SearchHit(row.conversation, row, _pieces(excerpt(row.content, terms), terms))
    return SearchHit(row, None, _pieces(row.title, terms))


def _pieces(text: str, terms: list[str]) -> tuple[SnippetPart, ...]:
    # The pattern has one group, so every second piece of the split is a found word.
    parts = marks(terms, text).split(text)
    return tuple(SnippetPart(part, number % 2 == 1) for number, part in enumerate(parts) if part)


def _write(hit: SearchHit) -> str:
    said_at = microseconds(hit.message.created_at) if hit.message else ""
    return f"{microseconds(hit.conversation.updated_at)}.{hit.conversation.pk.hex}.{said_at}"


def _read(cursor: str) -> SearchCursor:
    try:
        if found := CURSOR.fullmatch(cursor):
            return SearchCursor(moment_at(found[1]), UUID(found[2]), moment_at(found[3]) if found[3] else None)
    except OverflowError:
        pass
    raise not_ours()
