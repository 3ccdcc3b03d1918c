"""Learns the factor between our token counts and a model's own from its provider's reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

INITIAL = {"openai": 1.05, "other": 1.25}
"""A model's first correction: our counts are exact for OpenAI's text, but not for the tokens around it."""
REPORT_WEIGHT = 0.2
"""The weight of the newest report in the moving average."""


def is_plausible(*, estimated: int, reported: int) -> bool:
    """Whether a report is between half and twice our estimate; otherwise one of the two measured something else."""
    return estimated > 0 and estimated / 2 <= reported <= estimated * 2


def updated(correction: float, *, estimated: int, reported: int) -> float:
    """The correction after one more report: `estimated` tokens by our uncorrected count, `reported` by the provider.

    An implausible report is ignored.
    """
    if not is_plausible(estimated=estimated, reported=reported):
        return correction
    return round((1 - REPORT_WEIGHT) * correction + REPORT_WEIGHT * reported / estimated, 4)


AGREEING_REPORTS = 3
"""Reports in a row above twice the estimate that are believed, if they agree."""
AGREEMENT = 1.15
"""Reports agree if none is more than this many times another one."""
MAX_CORRECTION = 8.0
"""A larger factor is no count of the same text."""


def far_reports(earlier: Sequence[float], *, estimated: int, reported: int) -> list[float]:
    """The last factors above 2 in a row, this report's included; empty after a report of another size."""
    if estimated <= 0 or not estimated * 2 < reported <= estimated * MAX_CORRECTION:
        return []
    return [*earlier, round(reported / estimated, 4)][-AGREEING_REPORTS:]


def believed(far: Sequence[float]) -> float | None:
    """The factor on which as many reports as needed agree, their median; None if they do not."""
    agree = len(far) == AGREEING_REPORTS and max(far) <= AGREEMENT * min(far)
    return sorted(far)[AGREEING_REPORTS // 2] if agree else None


MAX_OWNERS = 16
"""The most people whose reports about a model are kept, the latest ones; each has one moving average."""
Report = list[float]
"""[a person's id, the moving average of their reports' corrections]."""


def with_report(
    reports: Iterable[Report], owner_id: int, correction: float, *, estimated: int, reported: int
) -> list[Report]:
    """The reports after one more of this person; a person's average begins at the present correction."""
    own = next((average for id, average in reports if id == owner_id), correction)
    return with_average(reports, owner_id, updated(own, estimated=estimated, reported=reported))


def with_average(reports: Iterable[Report], owner_id: int, average: float) -> list[Report]:
    """The reports with this average of the person."""
    others = [report for report in reports if report[0] != owner_id]
    return [*others[-(MAX_OWNERS - 1) :], [owner_id, average]]


def agreed_correction(correction: float, averages: Sequence[float]) -> float:
    """The correction, moved into the range between the middle averages.

    Of two people who disagree neither can move it past the other; with an odd number it becomes their median.
    """
    ranked = sorted(averages)
    if not ranked:
        return correction
    return min(max(correction, ranked[(len(ranked) - 1) // 2]), ranked[len(ranked) // 2])
