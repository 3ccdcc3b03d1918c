"""The retention gate: checks the summary for the condensed text's facts, and puts sentences with missing ones back."""

from __future__ import annotations

from dataclasses import replace

from compression.core.aging import SEPARATOR_TOKENS, cost
from compression.core.context import FRAME
from compression.core.counted_facts import GATE_FACTS
from compression.core.facts import is_critical, kept_facts
from compression.core.kept_facts import repair
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Retention

REPAIR_SHARE = 0.25
"""The share of a summary's asked length that is kept free for facts that are put back."""


def repaired(draft: Draft, *, count: TokenCounter) -> Draft:
    """The draft with the sentences of missing facts under `## Kept facts`, and with its retention up to here.

    Critical facts come first, then the others by weight, so a less important fact never displaces a critical one. What
    is put back may take the room that the older summaries leave within the draft's limit, and at least REPAIR_SHARE.
    """
    standing = {fact.text for fact in kept_facts(draft.facts, draft.summary)}
    missing = [fact for fact in draft.facts if fact.text not in standing]
    missing.sort(key=lambda fact: not is_critical(fact))
    summary, added = repair(draft.summary, missing, budget=_room(draft, count), count=count)
    judged = draft.facts[:GATE_FACTS]
    own = sum(fact.text in standing for fact in judged)
    retention = Retention(len(draft.facts), len(standing) + len(added), len(added), len(judged), own)
    return replace(draft, summary=summary, retention=retention)


def _room(draft: Draft, count: TokenCounter) -> int:
    """The tokens that may be put back."""
    free = draft.room - count(FRAME) - SEPARATOR_TOKENS - cost(draft.older)
    length = count(draft.summary)
    return max(min(draft.limit, free) - length, min(draft.limit - length, int(draft.max_tokens * REPAIR_SHARE)))
