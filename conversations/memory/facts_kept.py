"""Counts the facts of compacted messages that the next request contains, for every page and the API.

Nothing is counted ahead: each figure is computed when a person or a program asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from uuid import UUID

from compression.core.facts.fact_counts import FactsKept, facts_in, kept_now, request_text
from compression.core.plan.aging import MAX_REREAD_TOKENS
from compression.core.values import CountedFact
from compression.models import Checkpoint, Compaction
from compression.records import facts_of
from conversations.context import transcript
from conversations.models import Conversation


def facts_kept(conversation: Conversation) -> FactsKept:
    """The facts of all that is compacted: how many the next request has, and those that it does not have."""
    look_for_facts(conversation.pk)
    rows = Checkpoint.objects.filter(conversation=conversation, active=True).values_list("facts", flat=True)
    facts = [fact for saved in rows for fact in facts_of(saved) or ()]
    return kept_now(facts, _next_request(conversation.pk)) if facts else FactsKept()


def facts_kept_of(conversation: Conversation, compactions: Iterable[Compaction]) -> dict[UUID, FactsKept]:
    """The figures for the messages of each of the conversation's compactions, by its id, if their facts are known.

    Compactions of other conversations, such as those of an agent's executors, are left out.
    """
    own = [row.pk for row in compactions if row.conversation_id == conversation.pk and row.was_in_force]
    facts = _facts_by_compaction(own) if own else {}
    text = _next_request(conversation.pk) if facts else ""
    return {pk: kept_now(found, text) for pk, found in facts.items()}


def look_for_facts(conversation_id: UUID) -> None:
    """Find the facts of active checkpoints that have none noted, such as imported ones; at most MAX_REREAD_TOKENS."""
    rows = Checkpoint.objects.filter(conversation_id=conversation_id, active=True)
    if not rows.filter(facts__isnull=True).exists():
        return
    head, left, after = transcript.head_of(conversation_id), MAX_REREAD_TOKENS, None
    text = _next_request(conversation_id)
    for row in rows.order_by("last_message_at", "number"):
        if row.facts is None and row.original_tokens <= left:
            left -= row.original_tokens
            turns = transcript.originals(conversation_id, after, row.last_message_at, row.stragglers)
            covered = [turn for turn in turns if turn.id not in head.verbatim_ids]
            rows.filter(pk=row.pk).update(facts=list(facts_in(covered, text, tokens=row.original_tokens)))
        after = row.last_message_at


def _facts_by_compaction(compactions: Sequence[UUID]) -> dict[UUID, Sequence[CountedFact]]:
    """The facts of each compaction's own messages: of the latest version of its own summary."""
    own = Checkpoint.objects.filter(compaction__in=compactions).order_by("last_message_at", "number")
    saved = dict(own.values_list("compaction", "facts"))
    return {pk: found for pk, one in saved.items() if (found := facts_of(one))}


def _next_request(conversation_id: UUID) -> str:
    loaded = transcript.load(conversation_id)
    return request_text(loaded.head.compressed_context, chain(loaded.kept, loaded.live))
