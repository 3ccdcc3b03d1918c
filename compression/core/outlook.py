"""Estimates, without a summariser, what a request takes after a compaction that a person asks for."""

from __future__ import annotations

from compression.core.context import FRAME_TOKENS
from compression.core.errors import CompactionSkipped
from compression.core.extractive.summariser import Extractive
from compression.core.policy import Policy
from compression.core.stages.identify import identify
from compression.core.values import MESSAGE_OVERHEAD, Draft, Steering, Transcript, total_tokens


def tokens_left(transcript: Transcript, policy: Policy) -> int | None:
    """About how many of the model's tokens the next request takes after a compaction by hand; None: nothing to compact.

    The new summary is taken to have the length that is asked of a model, or all the room where the policy wants it
    selected; recalled passages are taken to have all of theirs.
    """
    try:
        draft = identify(Draft(transcript), policy, Steering())
    except CompactionSkipped:
        return None
    window = transcript.window
    newest = draft.condensed_tokens // policy.min_reduction
    if policy.summariser != Extractive.name:
        newest = min(newest, policy.new_summary_tokens(window))
    earlier = 0 if policy.folds else max(0, transcript.context_tokens - FRAME_TOKENS - MESSAGE_OVERHEAD)
    summaries = min(FRAME_TOKENS + earlier + newest, policy.context_budget(window)) + MESSAGE_OVERHEAD
    verbatim = total_tokens(draft.kept + draft.tail)
    return window.corrected(transcript.system_tokens + summaries + verbatim + policy.recall_budget(window))
