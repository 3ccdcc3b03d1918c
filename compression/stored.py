"""Compacts a conversation that any Django project stores, and gives the messages to send in its place.

The project's model has `compressed_context`, `compressed_at` and `verbatim_ids`, and its `messages` have a UUID as
primary key, `role`, `content`, and a `created_at` that is different for each; their manager is of HistoryQuerySet.
docs/compression.md has a complete example.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction

from compression.conf import policy as policy_of
from compression.core.errors import CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.pipeline import compact
from compression.core.plan.policy import Policy
from compression.core.ports import Summariser
from compression.core.request_usage import usage_of
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Draft, Steering, Transcript, Turn, Window
from compression.defaults import setting
from compression.models import Compaction, Snapshot, next_moment
from compression.records import active_checkpoints, store_checkpoints


class Outdated(Exception):
    """Another compaction has changed the conversation meanwhile; nothing was stored."""


def compact_stored(
    conversation: Any, *, window: int, reply: int = 1_000, summariser: Summariser | None = None
) -> Compaction | None:
    """Summarise the older messages of a conversation that fills its window, and store the summary; None if none is due.

    `window` and `reply`, the room for the reply, are in tokens. `summariser` writes the summary; the built-in one
    quotes the most important sentences and needs no model. Call it outside of a transaction. Raises CompactionFailed
    where the result would not fit, and Outdated. With COMPRESSION_ENABLED off, none is ever due.
    """
    context, cut = conversation.compressed_context, conversation.compressed_at
    turns = tuple(_turn(row) for row in _sent(conversation))
    transcript = Transcript(
        turns,
        Window(window, reply),
        context_tokens=_tokens(context) if context else 0,
        checkpoints=active_checkpoints(conversation.pk),
        cut=cut,
        waiting=int(bool(turns) and turns[-1].role == "user"),
    )
    # Nothing is recalled for the project's requests.
    policy, author = replace(policy_of(), recall=False), summariser or Extractive()
    if not policy.enabled or not policy.is_due(usage_of(transcript), messages=len(turns)):
        return None
    try:
        draft = async_to_sync(_compacted)(transcript, policy, author)
    except CompactionSkipped:
        return None
    with transaction.atomic():
        return _store(conversation, draft, author=author.name)


def messages_to_send(conversation: Any) -> list[dict[str, str]]:
    """The summary, if there is one, and the messages that it does not stand for, as chat completions have them."""
    context = conversation.compressed_context
    summary = [{"role": setting("COMPRESSION_SUMMARY_ROLE"), "content": context}] if context else []
    return summary + [{"role": row.role, "content": row.content} for row in _sent(conversation)]


async def _compacted(transcript: Transcript, policy: Policy, summariser: Summariser) -> Draft:
    return await compact(
        transcript,
        policy,
        steering=Steering(),
        summariser=summariser,
        count=count_tokens,
        on_stage=_unwatched,
        at_once=setting("COMPRESSION_PARTS_AT_ONCE"),
    )


async def _unwatched(stage: str, percent: int) -> None:
    """Progress callback that does nothing: nobody waits."""


def _sent(conversation: Any) -> list[Any]:
    """The messages that no summary stands for, in order."""
    messages, cut = conversation.messages.all(), conversation.compressed_at
    kept = list(messages.kept(conversation.verbatim_ids, cut=cut)) if cut else []
    return sorted([*kept, *messages.after_cut(cut)], key=lambda row: row.created_at)


def _turn(row: Any) -> Turn:
    return Turn(str(row.pk), row.role, row.content, row.created_at, _tokens(row.content))


def _tokens(text: str) -> int:
    return count_tokens(text) + MESSAGE_OVERHEAD


def _store(conversation: Any, draft: Draft, *, author: str) -> Compaction:
    """Store the draft beside a snapshot of the state that it replaces."""
    before = {name: getattr(conversation, name) for name in ("compressed_context", "compressed_at", "verbatim_ids")}
    after = {
        "compressed_context": draft.context,
        "compressed_at": draft.cut,
        "verbatim_ids": list(draft.verbatim_ids),
    }
    rows = type(conversation)._base_manager.filter(pk=conversation.pk, compressed_at=before["compressed_at"])
    if not rows.update(**after):
        raise Outdated
    row = Compaction.objects.create(
        conversation_id=conversation.pk,
        created_at=next_moment(Compaction.objects.filter(conversation_id=conversation.pk)),
        trigger=Compaction.Trigger.API,
        status=Compaction.Status.SUCCEEDED,
        strategy=policy_of().strategy,
        summariser=author,
        messages_condensed=len(draft.condensed),
        pre_tokens=draft.condensed_tokens,
        post_tokens=draft.context_tokens,
    )
    Snapshot.objects.create(
        conversation_id=conversation.pk,
        created_at=next_moment(Snapshot.objects.filter(conversation_id=conversation.pk)),
        compaction=row,
        purpose=Snapshot.Purpose.ROLLBACK,
        compressed_tokens=draft.transcript.context_tokens,
        **before,
    )
    store_checkpoints(row, draft, model=author)
    for name, value in after.items():
        setattr(conversation, name, value)
    return row
