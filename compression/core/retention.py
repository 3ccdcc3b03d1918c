"""The retention gate: checks the summary for the condensed text's facts, and appends missing ones."""

from __future__ import annotations

from dataclasses import replace

from compression.core.facts import is_critical, kept_facts, repair
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Retention

GATE_FACTS = 50
"""The number of the condensed text's most important facts that the summary is checked for."""
REPAIR_SHARE = 0.25
"""The share of the summary's maximum length that appended facts may take."""


def repaired(draft: Draft, *, count: TokenCounter) -> Draft:
    """The draft with missing facts appended verbatim under `## Kept facts`, and with its retention.

    Critical facts come first, then the others by weight, so a less important fact never displaces a critical one.
    """
    facts = draft.facts[:GATE_FACTS]
    standing = kept_facts(facts, draft.summary)
    standing_texts = {fact.text for fact in standing}
    missing = sorted(
        (fact for fact in facts if fact.text not in standing_texts), key=lambda fact: not is_critical(fact)
    )
    budget = int(draft.max_tokens * REPAIR_SHARE)
    summary, added = repair(draft.summary, missing, budget=budget, count=count)
    retention = Retention(found=len(facts), kept=len(standing) + len(added), repaired=len(added))
    return replace(draft, summary=summary, retention=retention)
