"""Predicts, without a model, whether a compaction would save anything."""

from __future__ import annotations

from compression.core.errors import CompactionSkipped
from compression.core.plan.policy import Policy
from compression.core.stages.identify import identify
from compression.core.stages.prepare import summary_limit, summary_tokens
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Steering, Transcript


def pays(transcript: Transcript, policy: Policy, steering: Steering | None = None, *, count: TokenCounter) -> bool:
    """Whether enough messages can be condensed, and a summary of them would be small enough to save tokens."""
    try:
        draft = identify(Draft(transcript), policy, steering or Steering())
        summary_tokens(draft, policy, summary_limit(draft, policy, count), facts=None)
    except CompactionSkipped:
        return False
    return True
