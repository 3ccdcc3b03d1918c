"""Judges, by the tokens that a server counts, whether the server dropped the front of a request.

The server answers as if nothing were wrong, and its usage counts only what it read. A count that is too low once can
have other reasons; two in a row, of requests larger than any that the server has read whole, prove a smaller window.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MIN_ESTIMATED, MIN_REPORTED = 1_024, 512
"""Smaller requests and counts prove nothing: no server has so small a window."""
LOW_SHARE = 0.6
"""A count below this share of the expected one is too low. Ollama keeps half of its window of what is too long."""
GROWTH_SHARE, MIN_GROWTH_SHARE, MIN_GROWTH = 0.5, 0.05, 64
"""A thread that grew by at least MIN_GROWTH tokens and MIN_GROWTH_SHARE must be counted as grown by GROWTH_SHARE."""
PART_OF_READ = 0.45
"""A count below this share of what was read before counts something else, as tokens that no cache had."""
MIN_CAPPED = 8
"""The growth in tokens of a thread that proves a cut where its count is the same as before, to the token."""
STRIKES = 2
"""The requests in a row that must be counted too low before the window is taken to be smaller."""


class Report(NamedTuple):
    """One request: its `thread` (None: unknown), its tokens by our own count, and by the server's."""

    thread: Hashable
    estimated: int
    reported: int


@dataclass(frozen=True, slots=True)
class WindowEvidence:
    """Evidence of a server's counts: the most tokens it has read, the last report, and those too low in a row."""

    most_read: int = 0
    last: Report | None = None
    low: tuple[int, ...] = field(default=())

    @property
    def window(self) -> int | None:
        """The tokens that the server is proven to read, if it drops the rest; None without proof."""
        return max(self.most_read, *self.low) if len(self.low) >= STRIKES else None


def judged(
    evidence: WindowEvidence, report: Report, *, correction: float, is_learned: bool
) -> tuple[WindowEvidence, bool]:
    """The evidence with one more report, and whether the report may be learned from.

    `correction` is the factor from our count to the server's; `is_learned`: it comes from the server's own reports.
    """
    if report.estimated <= 0 or report.reported <= 0:
        return evidence, False
    factor = correction if is_learned else 1.0
    is_capped = _is_capped(evidence.last, report)
    if not is_capped and not _is_low(evidence.last, report, factor):
        most = max(evidence.most_read, report.reported)
        return WindowEvidence(most, report), True
    before = replace(evidence, last=report)
    if report.estimated * factor <= evidence.most_read or report.reported < PART_OF_READ * evidence.most_read:
        return before, False  # it read as much before: it counts something else
    strikes = STRIKES if is_capped else 1
    return replace(before, low=(*evidence.low, *[report.reported] * strikes)[-STRIKES:]), False


def _is_capped(last: Report | None, report: Report) -> bool:
    if last is None or report.thread is None or last.thread != report.thread or not _is_telling(report):
        return False
    return report.estimated - last.estimated >= MIN_CAPPED and report.reported == last.reported


def _is_telling(report: Report) -> bool:
    return report.estimated >= MIN_ESTIMATED and report.reported >= MIN_REPORTED


def _is_low(last: Report | None, report: Report, factor: float) -> bool:
    if not _is_telling(report):
        return False
    if report.reported < LOW_SHARE * factor * report.estimated:
        return True
    if last is None or report.thread is None or last.thread != report.thread:
        return False
    grown = report.estimated - last.estimated
    if grown < max(MIN_GROWTH, MIN_GROWTH_SHARE * last.estimated):
        return False
    return report.reported - last.reported < GROWTH_SHARE * min(1.0, factor) * grown
