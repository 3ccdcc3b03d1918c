"""How much the summariser keeps without a model: `python -m benchmarks.retention`.

Prints a table for the chats (LoCoMo), one for the coding-agent runs, what the retention gate leaves out, and the CPU
time that our summariser takes. The measures are defined in `benchmarks.measures`, `benchmarks.work` and
`benchmarks.gate`. Ours was tuned on the chats 26, 41 and 44, and on the first two runs; the shares of the other two are
shown apart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from statistics import fmean

from benchmarks import gate, measures, speed, systems, work
from benchmarks.conversations import DATA, Conversation, load
from benchmarks.goals import IS_SMALL, sized

CHATS = sized(("26", "30", "41", "42", "43", "44"), small=("26",))
TUNED, HELD_OUT = ("ctf-i-got-id", "pydicom-1458"), ("ctf-timecapsule", "marshmallow-1867")
CHAT_BUDGETS = sized((2000, 4000, 8000), small=(2000,))
RUN_BUDGETS = sized((1000, 2000, 4000), small=(1000,))

SMALL = 300
"""Tokens at which not all critical facts find room behind the gate."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=CHATS, help="chats to measure (default: all six)")
    parser.add_argument("--ours", action="store_true", help="leave the other systems out")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: the real conversations are no part of the repository")
    ours, others = {"extractive": systems.extractive}, {} if options.ours or IS_SMALL else systems.others()
    chats = [load(f"locomo/{name}") for name in options.only]
    runs = [load(f"swe/{name}") for name in TUNED + HELD_OUT]
    table("ans / phr / evid / eans", CHAT_BUDGETS, ours | others, chats, answered)
    ours["what it tells in lines"] = systems.lines_alone
    table(f"mean, held out ({', '.join(work.SHAPES)})", RUN_BUDGETS, ours | others, runs, worked)
    gate.report(runs, (SMALL, *RUN_BUDGETS))
    gate.report(chats, (SMALL, *CHAT_BUDGETS))
    speed.report([*chats, *runs])


Measure = Callable[[Sequence[Conversation], Sequence[str]], str]
"""(conversations, their summaries) -> what a cell shows."""


def answered(conversations: Sequence[Conversation], summaries: Sequence[str]) -> str:
    """Means over all questions of all conversations."""
    rows = [row for pair in zip(conversations, summaries, strict=True) for row in measures.answers(*pair)]
    return " / ".join(_figure(fmean(column)) for column in zip(*rows, strict=True))


def worked(runs: Sequence[Conversation], summaries: Sequence[str]) -> str:
    """The mean of all shapes and runs, that of the runs that were held out, then shape by shape."""
    rows = [work.kept(*pair) for pair in zip(runs, summaries, strict=True)]
    means = [fmean(row.values()) for row in rows]
    shapes = (fmean(row[shape] for row in rows if shape in row) for shape in work.SHAPES)
    held_out = fmean(means[len(TUNED) :])
    return f"**{_figure(fmean(means))}**, {_figure(held_out)} ({' / '.join(map(_figure, shapes))})"


def _figure(share: float) -> str:
    return f"{share:.3f}".lstrip("0") if share < 1 else "1"


def table(
    title: str,
    budgets: Sequence[int],
    chosen: dict[str, systems.System],
    conversations: Sequence[Conversation],
    measure: Measure,
) -> None:
    print(f"\n| {title} | " + " | ".join(f"{budget:,} tokens" for budget in budgets) + " |")
    print("|" + " --- |" * (len(budgets) + 1))
    for name, system in chosen.items():
        cells = [measure(conversations, [system(one, budget) for one in conversations]) for budget in budgets]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
