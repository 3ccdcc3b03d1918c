"""Finds words, or a date, in one conversation."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from conversations.messages.history import history
from conversations.messages.search import MAX_QUERY_CHARS
from conversations.messages.search_terms import contains, terms_of
from conversations.models import Conversation
from conversations.runtime.substring_lookup import time_limit
from conversations.validation import clean_text

MOST = 1_000
"""The most messages that are found, the latest ones."""


class FoundMessages(NamedTuple):
    """The ids of the found messages, the earliest first; `is_cut` says that earlier ones were left out."""

    ids: tuple[UUID, ...]
    is_cut: bool = False


def find_words(conversation: Conversation, query: str) -> FoundMessages:
    """The messages with all words of a query, in any case; "words in quotes" as they stand.

    Raises Invalid for a query that is too long, is not text, or takes too long to answer.
    """
    terms = terms_of(clean_text("q", query, limit=MAX_QUERY_CHARS, allow_blank=True))
    if not terms:
        return FoundMessages(())
    rows = history(conversation).filter(contains("content", terms))
    with time_limit("q"):
        found = list(rows.order_by("-created_at").values_list("pk", flat=True)[: MOST + 1])
    return FoundMessages(tuple(reversed(found[:MOST])), len(found) > MOST)


def find_date(conversation: Conversation, since: datetime) -> UUID | None:
    """The first message written at `since` or later, else the last one; None in an empty conversation."""
    rows = history(conversation).values_list("pk", flat=True)
    first = rows.filter(created_at__gte=since).order_by("created_at").first()
    return first or rows.order_by("-created_at").first()
