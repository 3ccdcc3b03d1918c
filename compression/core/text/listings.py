"""Finds listings in what tools print: long runs of lines that differ in their numbers alone, or that name a path each.

A log, a table of figures or a list of files has hundreds of numbers and paths. None of them says anything alone, and
as facts of their own they would push everything else out of a summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

_END = " more like it)"
LEAST_ROWS = 12
"""The lines of a run that is a listing. Fewer may be read one by one, such as the ports of ten services."""

_NUMBER = re.compile(r"[0-9]+")
_PATH_ALONE = re.compile(r"\s*+(?:[-dl][-rwxsStT]{9}\s.*|[\w@~+-]*+[/.][\w@./~+-]*+\s*+)")
"""A line of `ls -l`, or one with a path and nothing else."""


def without_listings(text: str) -> str:
    """The text without the lines of its listings."""
    return "\n".join(line for rows, is_listing in _runs(text) if not is_listing for line in rows)


def shortened_listings(text: str) -> str:
    """The text with one line for each listing: its first line, with the number of the others."""
    return "\n".join(line for rows, is_listing in _runs(text) for line in (_opening(rows) if is_listing else rows))


def stands_for_listing(line: str) -> bool:
    """Whether a line is one that `shortened_listings` put in place of a listing."""
    return line.endswith(_END)


def _opening(rows: list[str]) -> list[str]:
    return [f"{rows[0]} (and {len(rows) - 1:,}{_END}"]


def _runs(text: str) -> Iterator[tuple[list[str], bool]]:
    """The lines of the text in runs of one shape, each with whether it is a listing.

    A line that was cut off belongs to the listing before it if it begins as that one's lines do.
    """
    listing = ""
    for shape, lines in groupby(text.splitlines(), _shape):
        rows = list(lines)
        if listing and _is_cut_off(rows[0], listing):
            del rows[0]
        is_listing = bool(shape) and len(rows) >= LEAST_ROWS
        listing = shape if is_listing else ""
        yield rows, is_listing


def _is_cut_off(line: str, shape: str) -> bool:
    """Whether a line of this shape ends in "…" before its end."""
    cut = line.rstrip().removesuffix("[truncated]").rstrip()
    return cut.endswith("…") and shape.startswith(_masked(cut[:-1]))


def _shape(line: str) -> str:
    """The form that the lines of a listing share; "" for a line that is in none."""
    if _PATH_ALONE.fullmatch(line):
        return "a path"
    shape = _masked(line)
    return shape if shape != line.strip() else ""


def _masked(line: str) -> str:
    return _NUMBER.sub("0", line).strip()
