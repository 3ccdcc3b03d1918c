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


MAX_OWNERS = 16
"""The most people whose reports about a model are kept, the latest ones; each has one moving average."""
Report = list[float]
"""[a person's id, the moving average of their reports' corrections]."""


def with_report(
    reports: Iterable[Report], owner_id: int, correction: float, *, estimated: int, reported: int
) -> list[Report]:
    """The reports after one more of this person; a person's average begins at the present correction."""
    own = next((average for id, average in reports if id == owner_id), correction)
    others = [report for report in reports if report[0] != owner_id]
    return [*others[-(MAX_OWNERS - 1) :], [owner_id, updated(own, estimated=estimated, reported=reported)]]


def agreed_correction(correction: float, averages: Sequence[float]) -> float:
    """The correction, moved into the range between the middle averages.

    Of two people who disagree neither can move it past the other; with an odd number it becomes their median.
    """
    ranked = sorted(averages)
    if not ranked:
        return correction
    return min(max(correction, ranked[(len(ranked) - 1) // 2]), ranked[len(ranked) // 2])
