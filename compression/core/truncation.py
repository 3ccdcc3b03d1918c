"""The last-resort summariser: notes how many messages were omitted, and lists their most important facts."""

from __future__ import annotations

import asyncio
import re

from compression.core.extractive.rendering import NOTHING, render_summary
from compression.core.extractive.summariser import extract
from compression.core.facts.find import find_facts
from compression.core.facts.restored_facts import repair
from compression.core.sections import SUMMARY
from compression.core.text.statements import statements_in_summary, statements_of
from compression.core.tokens import count_tokens
from compression.core.values import Passage, SummariserOutput

MAX_FACTS = 60
EARLIER_SHARE = 0.7
"""The share of the note that the earlier summary may take."""

_NOTE = re.compile(r"\b([0-9]{1,9}) messages? omitted, stored in full\.? ?")


class Truncation:
    """A `Summariser` that cannot fail: its summary is a note of the omitted messages with a list of their facts."""

    name = "truncation"
    window: int | None = None
    provisional = True
    fills_budget = False
    marks_progress = False

    async def summarise(self, passage: Passage) -> SummariserOutput:
        return SummariserOutput(await asyncio.to_thread(truncated, passage))


def truncated(passage: Passage) -> str:
    """The note under the required headings, with `## Kept facts`, within `passage.max_tokens` tokens.

    Sentences of the earlier summary are selected into it.
    """
    text = _noted(len(passage.turns), passage.earlier, int(EARLIER_SHARE * passage.max_tokens))
    statements = [
        *statements_in_summary(passage.earlier),
        *(statement for turn in passage.turns for statement in statements_of(turn)),
    ]
    budget = passage.max_tokens - count_tokens(text)
    return (
        repair(text, find_facts(statements)[:MAX_FACTS], budget=budget, count=count_tokens)[0] if budget > 0 else text
    )


def merge_notes(summary: str) -> str:
    """The summary with all notes of omitted messages replaced by one that has the sum of their numbers."""
    numbers = _NOTE.findall(summary)
    return f"{SUMMARY}\n{_note(sum(map(int, numbers)))}\n{_NOTE.sub('', summary)}" if len(numbers) > 1 else summary


def is_note(statement: str) -> bool:
    """Whether a statement is the note of omitted messages."""
    return _NOTE.fullmatch(statement) is not None


def _noted(omitted: int, earlier: str, max_tokens: int) -> str:
    """A summary of at most `max_tokens`: the note of omitted messages, then sentences selected from `earlier`."""
    omitted += sum(map(int, _NOTE.findall(earlier)))
    note = _note(omitted)
    text = render_summary([])
    if previous := _NOTE.sub("", earlier).strip():
        text = extract((), earlier=previous, max_tokens=max_tokens - count_tokens(note), count=count_tokens)
    rest = text.removeprefix(f"{SUMMARY}\n").removeprefix(f"{NOTHING}\n")
    return f"{SUMMARY}\n{note}\n{rest}"


def _note(omitted: int) -> str:
    return f"{omitted} message{'s' * (omitted != 1)} omitted, stored in full."
