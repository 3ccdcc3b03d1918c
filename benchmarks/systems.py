"""Ways to compress a conversation without a model: ours, and plain ones to stand beside it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec

from benchmarks.conversations import Conversation
from benchmarks.measures import content
from compression.core.dates import written
from compression.core.extractive import extract
from compression.core.sentences import clean, one_line
from compression.core.tokens import count_tokens
from compression.core.values import Turn

System = Callable[[Conversation, int], str]
"""(conversation, budget in tokens) -> text."""


def extractive(conversation: Conversation, budget: int) -> str:
    return extract(conversation.turns, earlier="", max_tokens=budget, count=count_tokens)


def others() -> dict[str, System]:
    systems: dict[str, System] = {
        "last messages": last_messages,
        "random messages": random_messages,
        "rare words": rare_words,
        "the whole conversation": everything,
    }
    if not (find_spec("sumy") and find_spec("numpy")):
        print("TextRank and LexRank are left out: the packages sumy and numpy are not installed")
        return systems
    from benchmarks.graphs import lex_rank, text_rank

    return {**systems, "TextRank (sumy)": text_rank, "LexRank (sumy)": lex_rank}


def everything(conversation: Conversation, budget: int) -> str:
    """All of it, whatever the budget: the most that a measure can reach."""
    return _transcript(conversation.turns)


def last_messages(conversation: Conversation, budget: int) -> str:
    return kept(conversation.turns, reversed(range(len(conversation.turns))), budget)


def random_messages(conversation: Conversation, budget: int) -> str:
    order = list(range(len(conversation.turns)))
    random.Random(0).shuffle(order)
    return kept(conversation.turns, order, budget)


def rare_words(conversation: Conversation, budget: int) -> str:
    """Greedily the message with most weight of words that no chosen one has, by their rarity, for its length."""
    words = [content(turn.content) for turn in conversation.turns]
    frequency = Counter(word for message in words for word in message)
    left, order, covered = set(range(len(words))), list[int](), set[str]()
    while left:
        best = max(
            left, key=lambda n: sum(1 / frequency[word] for word in words[n] - covered) / conversation.turns[n].tokens
        )
        order.append(best)
        covered |= words[best]
        left.remove(best)
    return kept(conversation.turns, order, budget)


def kept(turns: Sequence[Turn], order: Iterable[int], budget: int) -> str:
    """The first messages of `order` that fit `budget` tokens with their dates, in the order of the conversation."""
    chosen: list[int] = []
    days: set[str] = set()
    left = budget
    for number in order:
        day = written(turns[number].created_at.date())
        cost = count_tokens(_line(turns[number])) + 1 + (0 if day in days else count_tokens(day) + 3)
        if cost > left:
            break
        left -= cost
        days.add(day)
        chosen.append(number)
    return _transcript([turns[number] for number in sorted(chosen)])


def _transcript(turns: Sequence[Turn]) -> str:
    lines: list[str] = []
    for turn in turns:
        heading = f"### {written(turn.created_at.date())}"
        if heading not in lines:
            lines.append(heading)
        lines.append(_line(turn))
    return "\n".join(lines)


def _line(turn: Turn) -> str:
    calls = " ".join(f"{tool.name} {tool.arguments}" for tool in turn.tools)
    text = turn.content if not turn.name else one_line(clean(turn.content))
    return f"{turn.name or turn.role}: {text} {calls}".rstrip()
