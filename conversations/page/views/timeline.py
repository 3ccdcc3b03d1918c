"""The timeline page: every compaction of a conversation with its outcome and its savings.

Attempts that found nothing to compact are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from compression.core.citation_values import Citations
from compression.core.facts.fact_counts import FactsKept
from compression.models import Compaction
from conversations.access import get_conversation
from conversations.context.policy import compactions_of_all_flows
from conversations.memory.citations import citations_of
from conversations.memory.facts_kept import facts_kept_of
from conversations.models import Conversation
from conversations.page.views.guard import Request, member
from conversations.page.views.sidebar import sidebar

BEFORE = Coalesce("request_before", "pre_tokens")
AFTER = Coalesce("request_after", "post_tokens")
SHOWN = 100
"""The most compactions shown, the newest. The totals count all compactions."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A compaction; `before` and `after` are tokens in percent of the largest `before` shown."""

    compaction: Compaction
    before: float
    after: float
    can_undo: bool
    facts: FactsKept | None
    """The facts of its messages that the next request has."""
    statements: Citations | None
    """The statements of its summary, and those that no message supports."""

    @property
    def changed(self) -> bool:
        """Whether the compaction was in force at some time."""
        return self.compaction.was_in_force


@member
@never_cache
@require_GET
def timeline(request: Request, pk: UUID) -> HttpResponse:
    conversation = get_conversation(request.user, pk)
    context = {"conversation": conversation, "entries": _entries(conversation), "total": _total(conversation)}
    if request.htmx:
        return render(request, "conversations/compactions/_timeline.html", context)
    listed = sidebar(request.user, current=conversation)
    return render(request, "conversations/compactions/timeline.html", context | {"sidebar": listed})


def _entries(conversation: Conversation) -> list[Entry]:
    rows = list(_news_of(conversation).order_by("-created_at", "-id").defer("prepared")[:SHOWN])
    done = conversation.compactions.filter(status=Compaction.Status.SUCCEEDED)
    last = done.order_by("-created_at", "-id").values_list("pk", flat=True).first()
    most = max((row.before or 0 for row in rows), default=0) or 1
    facts = facts_kept_of(conversation, rows)
    statements = citations_of(rows)
    return [
        Entry(
            row,
            100 * (row.before or 0) / most,
            100 * (row.after or 0) / most,
            can_undo=row.pk == last,
            facts=facts.get(row.pk),
            statements=statements.get(row.pk),
        )
        for row in rows
    ]


def _news_of(conversation: Conversation) -> QuerySet[Compaction]:
    return compactions_of_all_flows(conversation).exclude(status=Compaction.Status.SKIPPED)


def _total(conversation: Conversation) -> dict[str, Any]:
    in_force = Q(status=Compaction.Status.SUCCEEDED)
    return _news_of(conversation).aggregate(
        runs=Count("pk"),
        compactions=Count("pk", filter=in_force),
        failed=Count("pk", filter=Q(status=Compaction.Status.FAILED)),
        saved=Sum(BEFORE - AFTER, filter=in_force),
        cost=Sum("cost_usd"),
        unpriced=Count("pk", filter=Q(prompt_tokens__gt=0, cost_usd=None)),
    )
