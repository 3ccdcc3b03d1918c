"""What the peers choose from, and the summary that a ranking of it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.conversations import Conversation
from benchmarks.measures import content
from compression.core.text.relative_dates import written
from compression.core.text.sentences import clean, one_line
from compression.core.tokens import count_tokens
from compression.core.values import Turn


@dataclass(frozen=True, slots=True)
class Unit:
    """A message of a chat, led by its speaker, or a line of a run: whole messages of a run exceed any budget."""

    day: str
    text: str
    tokens: int
    words: frozenset[str]


Ranking = Callable[[Sequence[Unit]], Iterable[int]]
"""Units -> their numbers, the best first."""


def units_of(conversation: Conversation) -> tuple[Unit, ...]:
    return tuple(
        Unit(written(turn.created_at.date()), line, count_tokens(line) + 1, content(line))
        for turn in conversation.turns
        for line in _lines(turn)
    )


def _lines(turn: Turn) -> Iterator[str]:
    if turn.name:
        yield f"{turn.name}: {one_line(clean(turn.content))}"
        return
    calls = (f"{tool.name} {tool.arguments}" for tool in turn.tools)
    for line in "\n".join([turn.content, *calls]).splitlines():
        if any(map(str.isalnum, line)):
            yield line.strip()


def summary_of(units: Sequence[Unit], order: Iterable[int], budget: int) -> str:
    """What fits `budget` tokens with its dates, in the order of the conversation, nothing twice."""
    chosen: set[int] = set()
    days: set[str] = set()
    texts: set[str] = set()
    left = budget
    for number in order:
        unit = units[number]
        cost = unit.tokens + (0 if unit.day in days else count_tokens(unit.day) + 3)
        if cost <= left and unit.text not in texts:
            left -= cost
            chosen.add(number)
            days.add(unit.day)
            texts.add(unit.text)
    return _rendered([units[number] for number in sorted(chosen)])


def _rendered(units: Sequence[Unit]) -> str:
    lines: list[str] = []
    day = ""
    for unit in units:
        if unit.day != day:
            lines.append(f"### {unit.day}")
            day = unit.day
        lines.append(unit.text)
    return "\n".join(lines)
