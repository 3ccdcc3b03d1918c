"""The retention gate: checks the summary for the condensed text's facts, and restores sentences with missing ones."""

from __future__ import annotations

from dataclasses import replace

from compression.core.context import FRAME
from compression.core.facts.fact_counts import GATE_FACTS
from compression.core.facts.file_lines import SHARE as FILES_SHARE
from compression.core.facts.file_lines import with_files
from compression.core.facts.find import is_critical, kept_facts
from compression.core.facts.restored_facts import repair
from compression.core.plan.aging import SEPARATOR_TOKENS, cost
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Retention

REPAIR_SHARE = 0.25
"""The share of a summary's requested length that is reserved for restored facts."""
CRITICAL_SHARE = 0.1
"""The share of it that critical facts have although the request is beyond its target then."""


def repaired(draft: Draft, *, count: TokenCounter) -> Draft:
    """The draft with the sentences of missing facts under `## Kept facts`, and with its retention up to here.

    Files that tools touched come first, under `## Files`: paths are critical, and a line is shorter than a sentence.
    Then come critical facts, then the others by weight: a less important fact never displaces a critical one.
    """
    standing = {fact.text for fact in kept_facts(draft.facts, draft.summary)}
    missing = [fact for fact in draft.facts if fact.text not in standing]
    most = _most_tokens(draft, count)
    free = max(most, _most_for_critical(draft)) - count(draft.summary)
    summary = with_files(draft.summary, draft.files, budget=int(FILES_SHARE * free), count=count)
    for facts, limit in (
        ([fact for fact in missing if is_critical(fact)], max(most, _most_for_critical(draft))),
        ([fact for fact in missing if not is_critical(fact)], most),
    ):
        there = {fact.text for fact in kept_facts(facts, summary)}
        lacking = [fact for fact in facts if fact.text not in there]
        summary, _ = repair(summary, lacking, budget=limit - count(summary), count=count)
    added = len(kept_facts(missing, summary))
    judged = draft.facts[:GATE_FACTS]
    own = sum(fact.text in standing for fact in judged)
    retention = Retention(len(draft.facts), len(standing) + added, added, len(judged), own)
    return replace(draft, summary=summary, retention=retention)


def _most_tokens(draft: Draft, count: TokenCounter) -> int:
    """The maximum tokens of the summary with its restored facts: the room that the target and the older summaries
    leave.
    """
    free = draft.room - count(FRAME) - SEPARATOR_TOKENS - cost(draft.older)
    return min(draft.limit, draft.target, free)


def _most_for_critical(draft: Draft) -> int:
    """The same for critical facts: they have CRITICAL_SHARE in any case."""
    return min(draft.limit, int((1 + CRITICAL_SHARE) * draft.max_tokens))
