"""How much of a conversation survives compression without a model: `python -m benchmarks.retention`.

Prints a table for the chats (LoCoMo), one for the coding-agent runs, and the time that our summariser takes. The
measures are defined in `benchmarks.measures`; ours was tuned on the chats 26, 41 and 44 alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from statistics import fmean
from time import process_time

from benchmarks import measures, systems
from benchmarks.conversations import DATA, Conversation, load
from compression.core import notes
from compression.core.rules import find_rules

CHATS = ("26", "30", "41", "42", "43", "44")
RUNS = ("ctf-i-got-id", "ctf-timecapsule", "marshmallow-1867", "pydicom-1458")
CHAT_BUDGETS, RUN_BUDGETS = (2000, 4000, 8000), (1000, 2000, 4000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=CHATS, help="chats to measure (default: all six)")
    parser.add_argument("--ours", action="store_true", help="leave the other systems out")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: the real conversations are no part of the repository")
    others = {} if options.ours else systems.others()
    chats = [load(f"locomo/{name}") for name in options.only]
    table("ans / phr / evid / eans", CHAT_BUDGETS, {"extractive": systems.extractive, **others}, chats, answered)
    runs = [load(f"swe/{name}") for name in RUNS]
    table(
        "paths, identifiers, numbers, errors, commands",
        RUN_BUDGETS,
        {"extractive": systems.extractive, **others},
        runs,
        worked,
    )
    times([*chats, *runs])


Measure = Callable[[Sequence[Conversation], Sequence[str]], str]
"""(conversations, their summaries) -> what a cell shows."""


def answered(conversations: Sequence[Conversation], summaries: Sequence[str]) -> str:
    """Means over all questions of all conversations."""
    rows = [row for pair in zip(conversations, summaries, strict=True) for row in measures.answers(*pair)]
    return " / ".join(_figure(fmean(column)) for column in zip(*rows, strict=True))


def worked(conversations: Sequence[Conversation], summaries: Sequence[str]) -> str:
    """The mean of all shapes and runs, then shape by shape."""
    rows = [measures.work(*pair) for pair in zip(conversations, summaries, strict=True)]
    mean = fmean(fmean(row.values()) for row in rows)
    shapes = (fmean(row[shape] for row in rows if shape in row) for shape in (*measures.SHAPES, "commands"))
    return f"**{_figure(mean)}** ({' / '.join(map(_figure, shapes))})"


def _figure(share: float) -> str:
    return f"{share:.3f}".lstrip("0") if share < 1 else "1"


def times(conversations: Sequence[Conversation]) -> None:
    """CPU seconds at the middle budget: cold (no message was seen before; stems and tokens are warm), and again."""
    print("\n| conversation | tokens | cold | warm |\n| --- | --- | --- | --- |")
    for conversation in conversations:
        notes.forget()
        find_rules.cache_clear()
        seconds = [_timed(conversation) for _ in range(2)]
        tokens = sum(turn.tokens for turn in conversation.turns)
        print(f"| {conversation.name} | {tokens:,} | " + " | ".join(f"{second:.3f} s" for second in seconds) + " |")


def _timed(conversation: Conversation) -> float:
    began = process_time()
    systems.extractive(conversation, 4000)
    return process_time() - began


def table(
    title: str,
    budgets: Sequence[int],
    chosen: dict[str, systems.System],
    conversations: Sequence[Conversation],
    measure: Measure,
) -> None:
    print(
        f"\n| {title} | "
        + " | ".join(f"{budget:,} tokens" for budget in budgets)
        + " |\n|"
        + " --- |" * (len(budgets) + 1)
    )
    for name, system in chosen.items():
        cells = [
            measure(conversations, [system(conversation, budget) for conversation in conversations])
            for budget in budgets
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
