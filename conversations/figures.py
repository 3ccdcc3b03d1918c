"""What the row of a compaction says of it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from compression.core.ports import Summariser
from compression.models import Compaction
from conversations.ladder import Climb
from conversations.llm.base import Spent
from conversations.llm.summariser import ModelSummariser


def figures_of(row: Compaction, rungs: Sequence[Summariser], climbed: Climb) -> dict[str, Any]:
    """What the row says of a compaction that succeeded."""
    draft, writer = climbed.draft, climbed.summariser
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
        "answers": writer.answers if isinstance(writer, ModelSummariser) else [],
    } | _spent(row, rungs)


def record_spending(row: Compaction, rungs: Sequence[Summariser]) -> None:
    """What a run was paid that comes to nothing, whoever has ended its row."""
    if any(isinstance(rung, ModelSummariser) and rung.has_asked for rung in rungs):
        Compaction.objects.filter(pk=row.pk).update(**_spent(row, rungs))


def _spent(row: Compaction, rungs: Sequence[Summariser]) -> dict[str, Any]:
    """What was paid for, whether its summary was used or not, by an earlier worker of the row too.

    The cost is not known where a price is missing.
    """
    models = [rung for rung in rungs if isinstance(rung, ModelSummariser)]
    if not models:
        return {}
    before = Spent(row.prompt_tokens, row.completion_tokens, row.cached_tokens)
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
