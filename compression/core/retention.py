"""The retention gate: facts of the condensed text are looked for in the summary, and missing ones put back."""

from __future__ import annotations

from dataclasses import replace

from compression.core.facts import is_critical, kept_facts, repair
from compression.core.tokens import TokenCounter
from compression.core.values import Draft, Retention

GATE_FACTS = 50
"""The most important facts of the condensed text, which are looked for in the summary."""
REPAIR_SHARE = 0.25
"""Of the length that the summary may have, for the facts that are appended to it."""


def repaired(draft: Draft, *, count: TokenCounter) -> Draft:
    """The draft with the missing facts verbatim under `## Kept facts`, and the score.

    Critical ones come first, then the most important: what fits of them is never left out for anything else.
    """
    facts = draft.facts[:GATE_FACTS]
    standing = kept_facts(facts, draft.summary)
    there = {fact.text for fact in standing}
    missing = sorted((fact for fact in facts if fact.text not in there), key=lambda fact: not is_critical(fact))
    budget = int(draft.max_tokens * REPAIR_SHARE)
    summary, added = repair(draft.summary, missing, budget=budget, count=count)
    retention = Retention(found=len(facts), kept=len(standing) + len(added), repaired=len(added))
    return replace(draft, summary=summary, retention=retention)
