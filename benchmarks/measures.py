"""How much of a chat a summary keeps, measured without a model reading it.

A content token is a stem that is no stop word. A segment is a part of a summary's line between semicolons; it is
credited to the one message of its day and speaker with which it shares most of its content tokens, so that no message
lives on words that another one said. A line without a date is credited only where it shares four tokens in five.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from benchmarks.conversations import Conversation
from compression.core.text.relative_dates import written
from compression.core.text.stemming import stem
from compression.core.text.stopwords import ENGLISH
from compression.core.values import Turn

_WORD = re.compile(r"[^\W_]+")
_LINE = re.compile(r"(?:([^\W_][\w .'-]{0,23}): )?(.*)")
UNDATED_SHARE = 0.8


@lru_cache(maxsize=50_000)
def content(text: str) -> frozenset[str]:
    """Content tokens of a text."""
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in ENGLISH)


class Row(NamedTuple):
    """One question.

    ans: share of the answer's content tokens that stand anywhere in the summary.
    phr: whether all of them stand in what is credited to one message.
    evid: share of the evidence messages' content tokens that are credited to those messages.
    eans: share of the answer's content tokens that stand in what is credited to the evidence messages, with its date
    and speaker: chance hits and word salad do not count.
    """

    ans: float
    phr: float
    evid: float
    eans: float


def answers(conversation: Conversation, summary: str) -> list[Row]:
    """A row for every question whose answer has content tokens."""
    anywhere = content(summary)
    kept = credited(conversation.turns, summary)
    rows = []
    for question in conversation.questions:
        if answer := content(question.answer):
            said = [(kept[number], conversation.turns[number]) for number in question.evidence]
            whole = sum(len(content(turn.content)) for _, turn in said)
            told = {word for words, turn in said if words for word in words | _header(turn)}
            rows.append(
                Row(
                    ans=_share(answer, anywhere),
                    phr=float(any(answer <= words for words in kept)),
                    evid=sum(len(words & content(turn.content)) for words, turn in said) / (whole or 1),
                    eans=_share(answer, told),
                )
            )
    return rows


def credited(turns: Sequence[Turn], summary: str) -> list[frozenset[str]]:
    """Content tokens of a summary by the message that they are credited to."""
    said = [content(turn.content) for turn in turns]
    by_line: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, turn in enumerate(turns):
        by_line[written(turn.created_at.date()), turn.name].append(number)
    kept: list[set[str]] = [set() for _ in turns]
    for day, speaker, segment in segments(summary):
        words = content(segment)
        numbers = by_line[day, speaker] if day else range(len(turns))
        best = max(numbers, key=lambda number: len(words & said[number]), default=None)
        if best is not None and (day or len(words & said[best]) >= UNDATED_SHARE * len(words)):
            kept[best] |= words
    return [frozenset(words) for words in kept]


def segments(summary: str) -> Iterator[tuple[str, str, str]]:
    """(day, speaker, text) of every segment; both are empty outside of dated lines."""
    day = ""
    for line in summary.splitlines():
        if line.startswith("## "):
            day = ""
        elif line.startswith("### "):
            day = line.removeprefix("### ")
        elif match := _LINE.fullmatch(line.removeprefix("- ")):
            for segment in match[2].split("; "):
                yield day, match[1] or "", segment


def _header(turn: Turn) -> frozenset[str]:
    return content(f"{written(turn.created_at.date())} {turn.name}")


def _share(wanted: frozenset[str], there: AbstractSet[str]) -> float:
    return len(wanted & there) / len(wanted)
