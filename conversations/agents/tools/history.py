"""Lets a model search its conversation's messages, compacted ones included, and read them in full.

Messages are numbered from 1 in their order. The results of both tools stay under TOOL_RESULT_MAX_CHARS, so that they
are never cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from conversations.context.tools import READ, SEARCH
from conversations.context.transcript import HISTORY, message_numbers
from conversations.errors import Invalid
from conversations.llm.tools import ToolFailed
from conversations.memory.message_index import of_conversation
from conversations.messages import lookup
from conversations.messages.search_terms import contains, excerpt, pattern, terms_of
from conversations.models import Message, ToolCall
from conversations.runtime.substring_lookup import time_limit

MAX_HITS = 10
SNIPPET_CHARS = 200
"""About the characters of an excerpt."""
HIGHEST = 1_000_000_000
"""The highest number of a message in a query; databases refuse larger integers."""
COLUMNS = ("role", "name", "content", "created_at")
KEPT_FREE = 100
"""Characters of a result that are kept free for the line on how to read on."""


def search_history(conversation_id: UUID, query: str) -> str:
    """The messages that, with their tools' results, fit the query best: a line for each. Raises ToolFailed.

    The index is used as for a person's search; if it finds nothing, messages in which all words occur are found. The
    results of the two history tools are not searched, as every search would find earlier searches again.
    """
    terms = terms_of(query)
    if not terms:
        raise ToolFailed("The query has no words.")
    try:
        with time_limit("query"):
            hits = _best(conversation_id, query, terms)
    except Invalid as refusal:
        raise ToolFailed(refusal.message) from None
    if not hits:
        return "No message has any of these words. Try others."
    numbers = message_numbers(conversation_id, [message.created_at for message in hits])
    lines = _fitting([_line(number, message, terms) for number, message in zip(numbers, hits, strict=True)][:MAX_HITS])
    if len(lines) < len(hits):
        lines.append("There are more: other words may find them.")
    return "\n".join(lines)


def read_history(conversation_id: UUID, first: int, count: int = 1, offset: int = 0) -> str:
    """`count` messages from number `first` on, the first one without its first `offset` characters.

    A result has as many messages as fit, and a line on how to read on. Raises ToolFailed if no such message exists.
    """
    first = min(first, HIGHEST)
    rows = list(_history(conversation_id).prefetch_related("tool_calls")[first - 1 : first - 1 + count])
    if not rows:
        raise ToolFailed(f"There are only {_history(conversation_id).count()} messages.")
    room, parts = _room(), list[str]()
    for number, message in enumerate(rows, first):
        text = _whole(message)
        if offset and offset >= len(text):
            raise ToolFailed(f"Message {number} has only {len(text):,} characters.")
        head = _head(number, message) + (f", from character {offset:,}" if offset else "") + ":\n"
        part = text[offset : offset + max(room - len(head), 1)]
        if parts and (room <= len(head) or len(part) < len(text)):
            return "\n\n".join([*parts, f"[Go on with first={number}]"])
        parts.append(head + part)
        if offset + len(part) < len(text):
            return "\n\n".join(
                [*parts, f"[Go on with first={number}, offset={offset + len(part)}: {len(text):,} in all]"]
            )
        room, offset = room - len(parts[-1]) - 2, 0
    return "\n\n".join(parts)


def _history(conversation_id: UUID) -> QuerySet[Message]:
    return Message.objects.filter(HISTORY, conversation=conversation_id).order_by("created_at")


def _best(conversation_id: UUID, query: str, terms: list[str]) -> list[Message]:
    """The best messages for a query; at most one more than MAX_HITS, which shows that there are more."""
    rows = Message.objects.filter(HISTORY).select_related("conversation").only(*COLUMNS, "conversation__updated_at")
    ranked = lookup.best(
        rows,
        query,
        scope=of_conversation(conversation_id),
        is_own=lambda row: row.conversation_id == conversation_id,
        within=conversation_id,
    )
    return list(_found(conversation_id, terms)[: MAX_HITS + 1]) if ranked is None else ranked[: MAX_HITS + 1]


def _found(conversation_id: UUID, terms: list[str]) -> QuerySet[Message]:
    in_results = _with(terms).filter(message=OuterRef("pk"))
    rows = _history(conversation_id).filter(contains("content", terms) | Exists(in_results))
    return rows.reverse().only(*COLUMNS)


def _with(terms: list[str]) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(contains("result", terms)).exclude(name__in=(SEARCH, READ))


def _line(number: int, message: Message, terms: list[str]) -> str:
    text, of = message.content, ""
    if not pattern(terms).search(text) and (call := _call_with(message, terms)):
        text, of = call.result or "", f", result of {call.name}"
    return f"{_head(number, message)}{of}: {excerpt(text, terms, SNIPPET_CHARS)}"


def _call_with(message: Message, terms: list[str]) -> ToolCall | None:
    """The message's first tool call whose result contains any of the terms."""
    calls = ToolCall.objects.filter(message=message, result__isnull=False).exclude(name__in=(SEARCH, READ))
    return next((call for call in calls if pattern(terms).search(call.result or "")), None)


def _head(number: int, message: Message) -> str:
    name = f" ({message.name})" if message.name else ""
    return f"#{number} {message.role}{name}, {message.created_at.astimezone(UTC):%Y-%m-%d %H:%M}"


def _fitting(lines: Iterable[str]) -> list[str]:
    room, kept = _room(), list[str]()
    for line in lines:
        if kept and len(line) + 1 > room:
            break
        kept.append(line[:room])
        room -= len(line) + 1
    return kept


def _whole(message: Message) -> str:
    """A message as text: its content, the names of its images, and its tool calls with their results."""
    images = [f"[image: {image['name']}]" for image in message.images or ()]
    calls = [f"[{call.name} {call.arguments}]\n{call.result or ''}" for call in message.tool_calls.all()]
    return "\n".join(part for part in (message.content, *images, *calls) if part)


def _room() -> int:
    return max(settings.TOOL_RESULT_MAX_CHARS - KEPT_FREE, KEPT_FREE // 2)
