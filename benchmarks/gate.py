"""Critical facts behind the retention gate: which stand in a summary, are appended to it, find no room, or are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks import systems
from benchmarks.conversations import Conversation
from compression.core.context import FRAME_TOKENS
from compression.core.facts.fact_counts import GATE_FACTS
from compression.core.facts.find import CRITICAL, find_facts, is_critical, kept_facts
from compression.core.facts.restored_facts import with_facts
from compression.core.plan.retention import REPAIR_SHARE, repaired
from compression.core.text.statements import Statement, statements_of
from compression.core.tokens import count_tokens
from compression.core.values import Draft, Fact, Transcript, Window


def report(conversations: Sequence[Conversation], budgets: Sequence[int]) -> None:
    """A row a budget. "Lost" are facts that are missing although their lines fit, taken in order of importance."""
    print(f"\nCritical facts ({', '.join(sorted(CRITICAL))}) among the gate's {GATE_FACTS}")
    print("\n| tokens | critical | in the summary | appended | no room | lost |\n| --- | --- | --- | --- | --- | --- |")
    for budget in budgets:
        counts = sum((_counted(conversation, budget) for conversation in conversations), Counter[str]())
        cells = (counts[name] for name in ("critical", "standing", "appended", "no room", "lost"))
        print(f"| {budget:,} | " + " | ".join(map(str, cells)) + " |", flush=True)


def _counted(conversation: Conversation, budget: int) -> Counter[str]:
    facts = find_facts(_said(conversation))
    summary = systems.extractive(conversation, budget)
    limit = int((1 + REPAIR_SHARE) * budget)
    draft = Draft(
        Transcript((), Window(budget, reserve=0)),
        room=limit + FRAME_TOKENS,
        max_tokens=budget,
        limit=limit,
        target=limit,
        facts=facts[:GATE_FACTS],
        summary=summary,
    )
    critical = [fact for fact in facts[:GATE_FACTS] if is_critical(fact)]
    standing = kept_facts(critical, summary)
    missing = [fact for fact in critical if fact not in standing]
    there = kept_facts(missing, repaired(draft, count=count_tokens).summary)
    fitting = _fitting(summary, missing, limit - count_tokens(summary))
    return Counter({
        "critical": len(critical),
        "standing": len(standing),
        "appended": len(there),
        "no room": len([fact for fact in missing if fact not in there and fact not in fitting]),
        "lost": len([fact for fact in fitting if fact not in there]),
    })  # fmt: skip


def _fitting(summary: str, missing: Sequence[Fact], budget: int) -> list[Fact]:
    """Those whose lines fit, counted on the whole text, each if it fits beside those before it."""
    most = count_tokens(summary) + budget
    found: list[Fact] = []
    for fact in missing:
        if count_tokens(with_facts(summary, [*found, fact])) <= most:
            found.append(fact)
    return found


def _said(conversation: Conversation) -> Iterator[Statement]:
    for turn in conversation.turns:
        yield from statements_of(turn)
