"""Whether a compaction would come to anything, before it is begun."""

from __future__ import annotations

from compression.core.errors import CompactionSkipped
from compression.core.policy import Policy
from compression.core.stages.identify import identify
from compression.core.stages.prepare import summary_tokens
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Steering, Transcript


def pays(transcript: Transcript, policy: Policy, *, count: TokenCounter) -> bool:
    """Whether there is something to condense that a summary would be enough smaller than. Asks nobody."""
    try:
        summary_tokens(identify(Draft(transcript), policy, Steering()), policy, count, facts=None)
    except CompactionSkipped:
        return False
    return True
