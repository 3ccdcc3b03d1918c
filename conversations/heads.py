"""A conversation's own row, with what is asked of its model, in one query."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from compression.core.values import Window
from compression.models import Compaction
from conversations.agents.tools.catalogue import offered
from conversations.agents.tools.spec import Spec
from conversations.models import Conversation, Message, ModelProfile
from conversations.prepared import Prepared

STREAMING = RawSQL("'streaming'", ())
"""Spelt out, so that SQLite too sees that the index of replies in the making covers it."""


class Head(NamedTuple):
    """A conversation's own row, as a turn needs it.

    `system_prompt`, `policy` and `rules` of an executor's are those of the agent's conversation that it works for.
    """

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
    is_replying: bool
    profile_id: int | None
    provider: str | None
    nominal_window: int | None
    max_reply_tokens: int | None
    is_local: bool | None
    correction: float | None
    sees_images: bool | None
    calls_tools: bool | None
    uses_tools: bool
    parent_id: UUID | None
    owner_id: int
    tools: tuple[Spec, ...] = ()
    """Those that the model is offered."""

    @property
    def is_at_work(self) -> bool:
        """Whether a reply is in the making; an executor's are stored when they are whole."""
        return self.is_replying or self.kind == Conversation.Kind.EXECUTOR

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

    @property
    def can_call(self) -> bool:
        return ModelProfile(provider=self.provider or "", calls_tools=bool(self.calls_tools)).can_call


def head_of(conversation_id: UUID) -> Head:
    """Raises Conversation.DoesNotExist."""
    rows = HEAD.rows(conversation=conversation_id)
    if not rows:
        raise Conversation.DoesNotExist(f"no conversation {conversation_id}")
    head = Head(*rows[0])
    return head._replace(tools=tools_for(head)) if head.uses_tools and head.can_call else head


def tools_for(conversation: Head | Conversation) -> tuple[Spec, ...]:
    """What a model that can call tools is offered in it: a query, where servers of tools can be among them."""
    return offered(conversation.kind, is_compressed=conversation.compressed_at is not None)


def _of_the_person(name: str) -> Coalesce:
    """What a person has set, wherever that stands: an executor's own row has none of it."""
    return Coalesce(f"parent__{name}", name)


def _head_columns(conversation: UUID) -> QuerySet[Conversation, Any]:
    active = Compaction.objects.filter(conversation=OuterRef("pk"), status__in=Compaction.ACTIVE)
    active = active.exclude(trigger=Compaction.Trigger.AHEAD)  # nobody waits for what is only prepared
    return Conversation.objects.filter(pk=conversation).values_list(
        "id", "mode", _of_the_person("system_prompt"), _of_the_person("policy"), _of_the_person("rules"),
        "goal_text", "kind", "compressed_context",
        "compressed_tokens", "compressed_at", "verbatim_ids", "elided", "compression_version", Exists(active),
        Exists(Message.objects.filter(conversation=OuterRef("pk"), status=STREAMING)),
        "model_id", "model__provider", "model__window", "model__max_reply_tokens", "model__is_local",
        "model__token_correction", "model__sees_images", "model__calls_tools",
        "uses_tools", "parent_id", "owner_id",
    )  # fmt: skip


HEAD = Prepared(_head_columns, conversation=(Conversation._meta.pk, UUID("00000000-0000-7000-8000-00000000c0de")))
