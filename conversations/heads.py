"""A conversation's own row, with what is asked of its model, in one query."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from compression.core.values import Window
from compression.models import Compaction
from conversations.models import Conversation, ModelProfile
from conversations.prepared import Prepared


class Head(NamedTuple):
    """A conversation's own row, as a turn needs it."""

    id: UUID
    mode: str
    system_prompt: str
    policy: dict[str, Any]
    rules: list[str]
    goal: str
    kind: str
    compressed_context: str | None
    compressed_tokens: int
    compressed_at: datetime | None
    verbatim_ids: list[str]
    elided: dict[str, int]
    version: int
    is_compacting: bool
    profile_id: int | None
    provider: str | None
    nominal_window: int | None
    max_reply_tokens: int | None
    is_local: bool | None
    correction: float | None
    sees_images: bool | None

    @property
    def window(self) -> Window | None:
        if self.nominal_window is None:
            return None
        return ModelProfile(
            window=self.nominal_window,
            max_reply_tokens=self.max_reply_tokens,
            is_local=bool(self.is_local),
            token_correction=self.correction or 1.0,
        ).usable_window

    @property
    def can_see(self) -> bool:
        return ModelProfile(provider=self.provider or "", sees_images=bool(self.sees_images)).can_see


def head_of(conversation_id: UUID) -> Head:
    """Raises Conversation.DoesNotExist."""
    rows = HEAD.rows(conversation=conversation_id)
    if not rows:
        raise Conversation.DoesNotExist(f"no conversation {conversation_id}")
    return Head._make(rows[0])


def _head_columns(conversation: UUID) -> QuerySet[Conversation, Any]:
    active = Compaction.objects.filter(conversation=OuterRef("pk"), status__in=Compaction.ACTIVE)
    active = active.exclude(trigger=Compaction.Trigger.AHEAD)  # nobody waits for what is only prepared
    return Conversation.objects.filter(pk=conversation).values_list(
        "id", "mode", "system_prompt", "policy", "rules", "goal_text", "kind", "compressed_context",
        "compressed_tokens", "compressed_at", "verbatim_ids", "elided", "compression_version", Exists(active),
        "model_id", "model__provider", "model__window", "model__max_reply_tokens", "model__is_local",
        "model__token_correction", "model__sees_images",
    )  # fmt: skip


HEAD = Prepared(_head_columns, conversation=(Conversation._meta.pk, UUID("00000000-0000-7000-8000-00000000c0de")))
