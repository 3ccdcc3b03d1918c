"""Estimates, without a summariser, the next request after a compaction that a person asks for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from compression.core.context import FRAME_TOKENS
from compression.core.errors import CompactionSkipped
from compression.core.plan.aging import cost, total_original_tokens
from compression.core.plan.policy import Policy
from compression.core.stages.identify import identify
from compression.core.stages.prepare import USUAL_DENSITY, summary_limit, summary_tokens
from compression.core.tokens import TokenCounter
from compression.core.values import MESSAGE_OVERHEAD, Draft, Steering, Transcript, Turn, total_tokens


@dataclass(frozen=True, slots=True)
class Forecast:
    """The next request after a compaction by hand, in tokens by our own count.

    `system`, `summaries` and `live` (the messages that stay word for word) are its parts, `recall_budget` the most that
    recalled passages may add. `condensed` is the number of messages that go into the new summary. `cut` is the date of
    the last of them, `verbatim` the ids of kept messages before it, `tail` the messages after it.
    """

    system: int
    summaries: int
    live: int
    recall_budget: int
    condensed: int
    cut: datetime
    verbatim: tuple[str, ...]
    tail: tuple[Turn, ...]

    @property
    def kept(self) -> int:
        """The number of messages that stay word for word."""
        return len(self.verbatim) + len(self.tail)


def after_compaction(
    transcript: Transcript, policy: Policy, *, is_selected: bool, count: TokenCounter
) -> Forecast | None:
    """The next request after a compaction by hand; None if there is nothing to compact.

    `is_selected`: no model writes the summary, so it fills its limit. A model's is taken to have the policy's length.
    """
    try:
        draft = identify(Draft(transcript), policy, Steering())
        limit = summary_limit(draft, policy, count)
        usual = draft.condensed_tokens * USUAL_DENSITY // 200  # with so many facts it has the policy's own length
        newest = summary_tokens(draft, policy, limit, facts=None if is_selected else usual)
    except CompactionSkipped:
        return None
    summaries = min(FRAME_TOKENS + cost(draft.older) + newest, draft.room) + MESSAGE_OVERHEAD
    covered = draft.condensed_tokens + total_original_tokens(transcript.checkpoints)
    return Forecast(
        system=transcript.system_tokens,
        summaries=summaries,
        live=total_tokens(draft.kept + draft.tail),
        condensed=len(draft.condensed),
        recall_budget=policy.recall_budget(transcript.window, covered=covered, summaries=summaries),
        cut=max(draft.condensed[-1].created_at, transcript.cut or draft.condensed[-1].created_at),
        verbatim=tuple(turn.id for turn in draft.kept),
        tail=draft.tail,
    )
