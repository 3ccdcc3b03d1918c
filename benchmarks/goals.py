"""Goals that figures are held against, and how much is measured.

`BENCH=small` in the environment asks for the small form of a benchmark: the same steps on few rows, to see that it
works. Its figures mean nothing, and it holds them against no goal. `make test` runs it.
"""

from __future__ import annotations

import os
import sys

IS_SMALL = os.environ.get("BENCH") == "small"

_missed: list[str] = []


def sized[Size](whole: Size, *, small: Size) -> Size:
    """`whole`, or `small` where the small form is asked for."""
    return small if IS_SMALL else whole


def held(value: float, goal: float, form: str, *, what: str) -> str:
    """`value` as it is printed, marked where it is above its `goal`; `what` names it for `end`."""
    return form.format(value) + note(value <= goal, f"{what}: {form.format(value)}, not {form.format(goal)}")


def note(is_met: bool, miss: str) -> str:
    """The mark of a figure: "" where its goal is met. `miss` is a line that says what is missed, for `end`."""
    if is_met or IS_SMALL:
        return ""
    _missed.append(miss)
    return " (missed)"


def end() -> None:
    """End the process: with status 0, or with status 1 and one line for each goal that was missed."""
    sys.exit("\n".join(f"Missed: {line}" for line in _missed) or 0)
