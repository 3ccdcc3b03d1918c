"""Computes the figures that a compaction's row records: tokens, facts and costs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import DatabaseError

from compression.core.ports import Summariser
from compression.models import Compaction
from conversations import spending
from conversations.compaction.fallback import FallbackResult
from conversations.compaction.model_summariser import ModelSummariser
from conversations.llm.port import ReportedTokens

logger = logging.getLogger(__name__)


def figures_of(row: Compaction, summarisers: Sequence[Summariser], chosen: FallbackResult) -> dict[str, Any]:
    """The columns of a successful compaction."""
    draft, writer = chosen.draft, chosen.summariser
    pre = draft.condensed_tokens + draft.transcript.context_tokens
    post = draft.context_tokens
    return {
        "level": draft.level,
        "first_message": draft.condensed[0].id,
        "last_message": draft.condensed[-1].id,
        "messages_condensed": len(draft.condensed),
        "pre_tokens": pre,
        "post_tokens": post,
        "reduction_percent": round(100 * (1 - post / pre), 1),
        "facts_found": draft.retention.found,
        "facts_kept": draft.retention.kept,
        "facts_repaired": draft.retention.repaired,
        "summary_preview": " ".join(draft.summary.replace("## Summary", "").split())[:100],
        "prompt": writer.prompt if isinstance(writer, ModelSummariser) else "",
        "answers": writer.answers if isinstance(writer, ModelSummariser) else [],
    } | _spent(row, summarisers)


def record_spending(row: Compaction, summarisers: Sequence[Summariser]) -> None:
    """Store the cost of a run that has no result, even if another process has ended its row."""
    if any(isinstance(summariser, ModelSummariser) and summariser.has_asked for summariser in summarisers):
        Compaction.objects.filter(pk=row.pk).update(**_spent(row, summarisers))


def count_spending(owner_id: int, summarisers: Sequence[Summariser]) -> None:
    """Add the requests of this run to its person's month; unlike the row, without those of earlier workers.

    The compaction is saved already: if the sum cannot be, it stays all the same.
    """
    try:
        for model in summarisers:
            if isinstance(model, ModelSummariser):
                spending.count(owner_id, model.spent.prompt + model.spent.completion, _cost(model))
    except DatabaseError:
        logger.exception("the cost of a compaction could not be counted")


def _spent(row: Compaction, summarisers: Sequence[Summariser]) -> dict[str, Any]:
    """The columns with the tokens and cost of all models asked, used or not, with those of the row's earlier workers.

    The cost is None if a model's price is not known.
    """
    models = [summariser for summariser in summarisers if isinstance(summariser, ModelSummariser)]
    if not models:
        return {}
    before = ReportedTokens(row.prompt_tokens, row.completion_tokens, row.cached_tokens)
    spent = sum((model.spent for model in models), before)
    costs = [_cost(model) for model in models if model.has_asked]
    costs += [row.cost_usd] if row.prompt_tokens else []
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "cached_tokens": spent.cached,
        "cost_usd": None if None in costs else sum((cost for cost in costs if cost), Decimal(0)),
    }


def _cost(model: ModelSummariser) -> Decimal | None:
    spent = model.spent
    return model.profile.cost(prompt=spent.prompt, cached=spent.cached, completion=spent.completion)
