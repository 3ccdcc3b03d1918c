"""What the row of a compaction says of it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from compression.core.ports import Summariser
from compression.core.values import Draft
from conversations.llm.base import Spent
from conversations.llm.summariser import ModelSummariser


def figures_of(rungs: Sequence[Summariser], draft: Draft) -> dict[str, Any]:
    """What the row says of a compaction that succeeded."""
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
    } | _spent(rungs)


def _spent(rungs: Sequence[Summariser]) -> dict[str, Any]:
    """What was paid for, whether its summary was used or not; the cost is not known where a price is missing."""
    models = [rung for rung in rungs if isinstance(rung, ModelSummariser)]
    if not models:
        return {}
    spent = sum((model.spent for model in models), Spent(0, 0))
    costs = [_cost(model) for model in models if model.has_asked]
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "cached_tokens": spent.cached,
        "cost_usd": None if None in costs else sum((cost for cost in costs if cost), Decimal(0)),
    }


def _cost(model: ModelSummariser) -> Decimal | None:
    spent = model.spent
    return model.profile.cost(prompt=spent.prompt, cached=spent.cached, completion=spent.completion)
