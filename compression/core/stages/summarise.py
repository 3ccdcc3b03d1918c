"""Stage 3: the passages, one after the other, each folding in the summary of those before it."""

from __future__ import annotations

from dataclasses import replace

from compression.core.extractive import extract
from compression.core.ports import OnStage, Summariser, TokenCounter
from compression.core.summary_text import accepted
from compression.core.values import Draft

FROM_PERCENT, TO_PERCENT = 20, 85


async def summarise(draft: Draft, *, summariser: Summariser, count: TokenCounter, on_stage: OnStage) -> Draft:
    """The summary of everything that is condensed and of the earlier one. Raises CompactionFailed."""
    summary = ""
    for number, passage in enumerate(draft.passages):
        await on_stage("summarise", FROM_PERCENT + (TO_PERCENT - FROM_PERCENT) * number // len(draft.passages))
        answer = await summariser.summarise(replace(passage, earlier=summary or passage.earlier))
        summary = accepted(answer)
    if count(summary) > draft.max_tokens:
        summary = extract((), earlier=summary, max_tokens=draft.max_tokens, count=count)
    return replace(draft, summary=summary)
