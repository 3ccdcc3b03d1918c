"""The last resort: a note that messages were left out, with their most important facts."""

from __future__ import annotations

import asyncio

from compression.core.facts import find_facts, repair
from compression.core.sections import CONTEXT, DECISIONS, FILES, STATE, SUMMARY
from compression.core.tokens import count_tokens
from compression.core.values import Passage, Written

MOST_FACTS = 60


class Truncation:
    """A `Summariser` that cannot fail: it says how many messages were omitted, and lists their facts."""

    name = "truncation"
    window: int | None = None
    provisional = True
    fills_budget = False

    async def summarise(self, passage: Passage) -> Written:
        return Written(await asyncio.to_thread(truncated, passage))


def truncated(passage: Passage) -> str:
    """The note under the required headings, with `## Kept facts`, of at most `passage.max_tokens` tokens."""
    number = len(passage.turns)
    note = f"{number} message{'s' * (number != 1)} omitted, stored in full."
    if passage.earlier:
        note += " An earlier summary is omitted too."
    text = "\n\n".join((f"{SUMMARY}\n{note}", *(f"{heading}\n-" for heading in (DECISIONS, FILES, STATE, CONTEXT))))
    texts = [passage.earlier, *(turn.content for turn in passage.turns)]
    texts += [f"{tool.arguments}\n{tool.result or ''}" for turn in passage.turns for tool in turn.tools]
    budget = passage.max_tokens - count_tokens(text)
    return repair(text, find_facts(texts)[:MOST_FACTS], budget=budget, count=count_tokens)[0] if budget > 0 else text
