"""The last resort: a note that messages were left out, with their most important facts."""

from __future__ import annotations

import asyncio
import re

from compression.core.extractive import extract
from compression.core.facts import find_facts, repair
from compression.core.rendering import NOTHING, render
from compression.core.said import said_before, said_by
from compression.core.sections import SUMMARY
from compression.core.tokens import count_tokens
from compression.core.values import Passage, Written

MOST_FACTS = 60
EARLIER_SHARE = 0.7
"""Of the note, for the earlier summary that is folded in."""

_NOTE = re.compile(r"\b([0-9]{1,9}) messages? omitted, stored in full\.? ?")


class Truncation:
    """A `Summariser` that cannot fail: it says how many messages were omitted, and lists their facts."""

    name = "truncation"
    window: int | None = None
    provisional = True
    fills_budget = False
    marks_progress = False

    async def summarise(self, passage: Passage) -> Written:
        return Written(await asyncio.to_thread(truncated, passage))


def truncated(passage: Passage) -> str:
    """The note under the required headings, with `## Kept facts`, of at most `passage.max_tokens` tokens.

    What an earlier summary tells stays, by selection from it.
    """
    text = _noted(len(passage.turns), passage.earlier, int(EARLIER_SHARE * passage.max_tokens))
    said = [*said_before(passage.earlier), *(one for turn in passage.turns for one in said_by(turn))]
    budget = passage.max_tokens - count_tokens(text)
    return repair(text, find_facts(said)[:MOST_FACTS], budget=budget, count=count_tokens)[0] if budget > 0 else text


def gathered(summary: str) -> str:
    """The summary with one note in place of several: the sum of what they say was omitted."""
    numbers = _NOTE.findall(summary)
    return f"{SUMMARY}\n{_note(sum(map(int, numbers)))}\n{_NOTE.sub('', summary)}" if len(numbers) > 1 else summary


def _noted(omitted: int, earlier: str, max_tokens: int) -> str:
    """A summary that says first what was omitted, then what `earlier` does in at most `max_tokens`."""
    omitted += sum(map(int, _NOTE.findall(earlier)))
    note = _note(omitted)
    text = render([])
    if told := _NOTE.sub("", earlier).strip():
        text = extract((), earlier=told, max_tokens=max_tokens - count_tokens(note), count=count_tokens)
    rest = text.removeprefix(f"{SUMMARY}\n").removeprefix(f"{NOTHING}\n")
    return f"{SUMMARY}\n{note}\n{rest}"


def _note(omitted: int) -> str:
    return f"{omitted} message{'s' * (omitted != 1)} omitted, stored in full."
