"""Runs the six stages of a compaction in order; no stage stores anything."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import replace

from compression.core.facts.fact_counts import counted
from compression.core.plan.aging import MAX_REREAD_TOKENS, total_original_tokens
from compression.core.plan.policy import Policy
from compression.core.plan.retention import repaired
from compression.core.ports import OnStage, Originals, PartWatch, Summariser, no_originals
from compression.core.stages.checkpoint import checkpoint, originals_of
from compression.core.stages.identify import identify
from compression.core.stages.prepare import prepare
from compression.core.stages.summarise import TO_PERCENT, summarise
from compression.core.stages.update import update
from compression.core.stages.validate import validate
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Steering, Transcript


async def compact(
    transcript: Transcript,
    policy: Policy,
    *,
    steering: Steering,
    summariser: Summariser,
    count: TokenCounter,
    on_stage: OnStage,
    watch: PartWatch | None = None,
    at_once: int = 1,
    originals: Originals = no_originals,
) -> Draft:
    """Condense the older part of `transcript` into a summary, and return the new state without storing it.

    Of a text in several parts, `at_once` are summarised at a time. Raises CompactionSkipped (nothing to gain) or
    CompactionFailed (naming the stage).
    """
    await on_stage("identify", 5)
    draft = await to_thread(identify, Draft(transcript), policy, steering)
    await on_stage("prepare", 10)
    if summariser.fills_budget and 0 < total_original_tokens(draft.folded) <= MAX_REREAD_TOKENS:
        draft = replace(draft, originals=await originals_of(draft.folded, draft, originals))
    draft = await to_thread(prepare, draft, policy, steering, summariser=summariser, count=count)
    draft = await summarise(
        draft,
        summariser=summariser,
        unsupported=policy.unsupported,
        count=count,
        on_stage=on_stage,
        watch=watch,
        at_once=at_once,
    )
    await on_stage("checkpoint", TO_PERCENT)
    draft = await to_thread(repaired, draft, count=count)
    draft = await checkpoint(draft, summariser=summariser, originals=originals, count=count)
    await on_stage("update", 90)
    draft = await to_thread(update, draft, count=count)
    draft = await to_thread(counted, draft)
    await on_stage("validate", 95)
    return await to_thread(validate, draft)
