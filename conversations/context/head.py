"""Reads a conversation's row, with its model's window and abilities, in one query."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Exists, OuterRef, QuerySet, Subquery, Sum, TextField, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from compression.core.values import Window
from compression.models import Checkpoint, Compaction
from conversations.access import takes_part
from conversations.compiled_query import EXAMPLE_ID, Prepared
from conversations.context import kept_entries
from conversations.context.tools import offered_tools
from conversations.llm.tools import Spec
from conversations.models import Conversation, Message, ModelProfile
from conversations.models.model_profile import usable_window

STREAMING = RawSQL("'streaming'", ())
"""The status as a literal, so that SQLite uses the partial index of streaming replies."""


class Head(NamedTuple):
    """The columns of a conversation, and of its model, that a turn needs.

    `covered_tokens` are those of all messages that its active checkpoints stand for.
    In an executor's conversation, `system_prompt`, `project_instructions`, `policy` and `rules` are those of its
    agent's conversation.
    """

    id: UUID
    mode: str
    system_prompt: str
    project_instructions: str
    policy: dict[str, Any]
    rules: list[str]
    noted: list[list[str]]
    goal: str
    kind: str
    compressed_context: str | None
    compressed_tokens: int
    covered_tokens: int
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
    effort: str
    undone_at: datetime | None = None
    """When the owner undid a compaction, until they choose how to go on."""
    price_input: Decimal | None = None
    price_cached: Decimal | None = None
    price_output: Decimal | None = None
    recalls_in: UUID | None = None
    """The project whose other conversations passages are recalled from; None: there is none, or it is switched off."""
    project_owner_id: int | None = None
    may_have_kept: bool = False
    kept: str | None = None
    """The entries that are kept for the project, or for the person, as lines of JSON (`context.kept_entries`)."""
    tools: tuple[Spec, ...] = ()
    """The tools that the model is offered."""

    @property
    def is_at_work(self) -> bool:
        """Whether a reply is being written; always true for an executor, whose replies are stored when complete."""
        return self.is_replying or self.kind == Conversation.Kind.EXECUTOR

    @property
    def window(self) -> Window | None:
        if self.nominal_window is None:
            return None
        return usable_window(
            self.nominal_window,
            max_reply_tokens=self.max_reply_tokens,
            is_local=bool(self.is_local),
            correction=self.correction or 1.0,
        )

    def with_model(self, model: ModelProfile) -> Head:
        """The head as it would be with another model."""
        return self._replace(
            profile_id=model.pk,
            provider=model.provider,
            nominal_window=model.window,
            max_reply_tokens=model.max_reply_tokens,
            is_local=model.is_local,
            correction=model.token_correction,
        )

    @property
    def can_see(self) -> bool:
        return bool(self.sees_images) and ModelProfile.is_able(self.provider)

    @property
    def can_call(self) -> bool:
        return bool(self.calls_tools) and ModelProfile.is_able(self.provider)


def head_of(conversation_id: UUID) -> Head:
    """The head of a conversation, with the tools that its model is offered.

    One query; one more for kept entries, and one more in another person's project, which has to be shared.

    Raises Conversation.DoesNotExist.
    """
    rows = HEAD.rows(conversation=conversation_id)
    if not rows:
        raise Conversation.DoesNotExist(f"no conversation {conversation_id}")
    head = Head(*rows[0])
    if head.project_owner_id not in (None, head.owner_id) and not _is_shared(conversation_id):
        head = head._replace(project_instructions="", recalls_in=None, may_have_kept=False)
    if head.may_have_kept:
        head = head._replace(kept=KEPT.rows(conversation=conversation_id)[0][0])
    return head._replace(tools=tools_for(head)) if head.uses_tools and head.can_call else head


def _is_shared(conversation_id: UUID) -> bool:
    """Whether the owner of a conversation may write in the project of another person that it is in."""
    return bool(settings.SHARED_PROJECTS and SHARED.rows(conversation=conversation_id))


def tools_for(conversation: Head | Conversation) -> tuple[Spec, ...]:
    """The tools offered in the conversation to a model that can call tools; one query if tool servers can be used."""
    return offered_tools(
        conversation.kind, has_gaps=conversation.compressed_at is not None or bool(conversation.elided)
    )


def _of_the_person(name: str) -> Coalesce:
    """A person's setting; for an executor's conversation, that of its agent's."""
    return Coalesce(f"parent__{name}", name)


def _columns() -> dict[str, Any]:
    """The column or expression behind each field of `Head` that is read from the database, in the fields' order."""
    active = Compaction.objects.filter(conversation=OuterRef("pk"), status__in=Compaction.ACTIVE)
    active = active.exclude(trigger=Compaction.Trigger.AHEAD)  # no request waits for one made ahead of time
    checkpoints = Checkpoint.objects.filter(conversation=OuterRef("pk"), active=True).order_by()
    covered = checkpoints.values("conversation").annotate(total=Sum("original_tokens")).values("total")
    streaming = Message.objects.filter(conversation=OuterRef("pk"), status=STREAMING)
    return {
        "id": "id",
        "mode": "mode",
        "system_prompt": _of_the_person("system_prompt"),
        "project_instructions": Coalesce(
            "parent__project__instructions", "project__instructions", Value(""), output_field=TextField()
        ),
        "policy": _of_the_person("policy"),
        "rules": _of_the_person("rules"),
        "noted": "noted",
        "goal": "goal_text",
        "kind": "kind",
        "compressed_context": "compressed_context",
        "compressed_tokens": "compressed_tokens",
        "covered_tokens": Coalesce(Subquery(covered), 0),
        "compressed_at": "compressed_at",
        "verbatim_ids": "verbatim_ids",
        "elided": "elided",
        "version": "compression_version",
        "is_compacting": Exists(active),
        "is_replying": Exists(streaming),
        "profile_id": "model_id",
        "provider": "model__provider",
        "nominal_window": "model__window",
        "max_reply_tokens": "model__max_reply_tokens",
        "is_local": "model__is_local",
        "correction": "model__token_correction",
        "sees_images": "model__sees_images",
        "calls_tools": "model__calls_tools",
        "uses_tools": "uses_tools",
        "parent_id": "parent_id",
        "owner_id": "owner_id",
        "effort": _of_the_person("effort"),
        "undone_at": "undone_at",
        "price_input": "model__price_input",
        "price_cached": "model__price_cached",
        "price_output": "model__price_output",
        "recalls_in": Case(
            When(shares_memory=True, project__recalls=True, then="project_id"),
            When(parent__shares_memory=True, parent__project__recalls=True, then="parent__project_id"),
        ),
        "project_owner_id": Coalesce("parent__project__owner_id", "project__owner_id"),
        "may_have_kept": kept_entries.may_have_any(),
    }


def _head_rows(conversation: UUID) -> QuerySet[Conversation, Any]:
    return Conversation.objects.filter(pk=conversation).values_list(*_columns().values())


def _kept_rows(conversation: UUID) -> QuerySet[Conversation, Any]:
    return Conversation.objects.filter(pk=conversation).values_list(kept_entries.column())


def _shared_rows(conversation: UUID) -> QuerySet[Conversation, Any]:
    return Conversation.objects.filter(takes_part() | takes_part("parent__"), pk=conversation).values_list("pk")


EXAMPLE = (Conversation._meta.pk, EXAMPLE_ID)
HEAD, KEPT = Prepared(_head_rows, conversation=EXAMPLE), Prepared(_kept_rows, conversation=EXAMPLE)
SHARED = Prepared(_shared_rows, conversation=EXAMPLE)
