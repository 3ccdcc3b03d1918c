"""The engine's rows as its values, and back."""

from __future__ import annotations

from uuid import UUID

from compression.core.values import Checkpoint as CheckpointValue
from compression.core.values import Draft
from compression.models import Checkpoint, Compaction


def active_checkpoints(conversation_id: UUID) -> tuple[CheckpointValue, ...]:
    """In order; together they represent everything up to the cut that is not kept."""
    rows = Checkpoint.objects.filter(conversation_id=conversation_id, active=True).order_by("number")
    return tuple(value_of(row) for row in rows)


def value_of(row: Checkpoint) -> CheckpointValue:
    return CheckpointValue(
        number=row.number,
        level=row.level,
        summary=row.summary,
        tokens=row.token_count,
        original_tokens=row.original_tokens,
        first_id=str(row.first_message),
        last_id=str(row.last_message),
        last_at=row.last_message_at,
        digest=row.digest,
        age=row.age,
        provisional=row.provisional,
    )


def store_checkpoints(compaction: Compaction, draft: Draft, *, model: str) -> None:
    """Make the draft's checkpoints the active ones; those that it replaced stay, inactive."""
    rows = Checkpoint.objects.filter(conversation_id=compaction.conversation_id)
    last = rows.order_by("-number").values_list("number", flat=True).first() or 0
    rows.filter(active=True).update(active=False)
    Checkpoint.objects.bulk_create(
        Checkpoint(
            conversation_id=compaction.conversation_id,
            compaction=compaction,
            number=number,
            level=value.level,
            age=value.age,
            summary=value.summary,
            token_count=value.tokens,
            original_tokens=value.original_tokens,
            first_message=value.first_id,
            last_message=value.last_id,
            last_message_at=value.last_at,
            model=model,
            provisional=value.provisional,
            digest=value.digest,
        )
        for number, value in enumerate(draft.checkpoints, start=last + 1)
    )
