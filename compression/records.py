"""Converts checkpoints between database rows and the engine's values."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Max

from compression.core.citation_values import as_json, from_json
from compression.core.values import Checkpoint as CheckpointValue
from compression.core.values import CountedFact, Draft
from compression.models import Checkpoint, Compaction


def active_checkpoints(conversation_id: UUID) -> tuple[CheckpointValue, ...]:
    """The active checkpoints in order; they cover all messages up to the cut except the kept ones."""
    rows = Checkpoint.objects.filter(conversation_id=conversation_id, active=True)
    return tuple(value_of(row) for row in rows.order_by("last_message_at", "number"))


def value_of(row: Checkpoint) -> CheckpointValue:
    """The engine's value of a checkpoint's row."""
    return CheckpointValue(
        number=row.number,
        level=row.level,
        summary=row.summary,
        tokens=row.token_count,
        birth_tokens=row.birth_tokens or row.token_count,
        original_tokens=row.original_tokens,
        first_id=str(row.first_message),
        last_id=str(row.last_message),
        last_at=row.last_message_at,
        digest=row.digest,
        age=row.age,
        provisional=row.provisional,
        stragglers=tuple(row.stragglers),
        author=row.model,
        facts=facts_of(row.facts),
        citations=from_json(row.citations),
    )


def facts_of(saved: list[Any] | None) -> tuple[CountedFact, ...] | None:
    """The facts that a checkpoint's row has; None if they are not known."""
    return None if saved is None else tuple(CountedFact(*fact) for fact in saved)


def store_checkpoints(compaction: Compaction, draft: Draft, *, model: str) -> None:
    """Make the draft's checkpoints the active ones: unchanged rows stay, replaced ones become inactive.

    `model` is the author of the last checkpoint; the other new ones are older summaries, shortened or merged, and keep
    the author of their headline.
    """
    rows = Checkpoint.objects.filter(conversation_id=compaction.conversation_id)
    unchanged = [value.number for value in draft.checkpoints if value.number]
    rows.filter(active=True).exclude(number__in=unchanged).update(active=False)
    last = rows.aggregate(last=Max("number"))["last"] or 0
    new = [value for value in draft.checkpoints if not value.number]
    Checkpoint.objects.bulk_create(
        _row(compaction, value, number=number, model=model if value is draft.checkpoints[-1] else value.author)
        for number, value in enumerate(new, start=last + 1)
    )


def _row(compaction: Compaction, value: CheckpointValue, *, number: int, model: str) -> Checkpoint:
    return Checkpoint(
        conversation_id=compaction.conversation_id,
        compaction=compaction,
        number=number,
        level=value.level,
        age=value.age,
        summary=value.summary,
        token_count=value.tokens,
        birth_tokens=value.birth_tokens,
        original_tokens=value.original_tokens,
        first_message=value.first_id,
        last_message=value.last_id,
        last_message_at=value.last_at,
        model=model,
        provisional=value.provisional,
        stragglers=list(value.stragglers),
        facts=None if value.facts is None else list(value.facts),
        citations=as_json(value.citations),
        digest=value.digest,
    )
