"""How far our token counts are from a model's own, learned from what its provider reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FIRST = {"openai": 1.05, "other": 1.25}
"""Where a model starts: our counts are exact for OpenAI's text, but not for what surrounds it."""
WEIGHT = 0.2
"""Of the newest report in the moving average."""


def counts(*, estimated: int, reported: int) -> bool:
    return estimated > 0 and estimated / 2 <= reported <= estimated * 2


def learned(correction: float, *, estimated: int, reported: int) -> float:
    """The correction after one more report: tokens as we counted them, uncorrected, and as the provider did.

    A report outside half to twice the estimate says that one of the two measured something else, and is ignored.
    """
    if not counts(estimated=estimated, reported=reported):
        return correction
    return round((1 - WEIGHT) * correction + WEIGHT * reported / estimated, 4)


OWNERS = 16
"""People whose reports of a model are kept, those heard last; each as one moving average."""
Report = list[float]
"""The id of a person, and the average of what their requests were reported to take."""


def with_report(
    reports: Iterable[Report], owner_id: int, correction: float, *, estimated: int, reported: int
) -> list[Report]:
    """The reports after one more of this person, whose average begins at the present correction."""
    own = next((average for id, average in reports if id == owner_id), correction)
    others = [report for report in reports if report[0] != owner_id]
    return [*others[-(OWNERS - 1) :], [owner_id, learned(own, estimated=estimated, reported=reported)]]


def agreed(correction: float, averages: Sequence[float]) -> float:
    """The correction, moved no further than to where as many people report more as report less.

    Of two who disagree neither can move it past the other; from three on it is their median.
    """
    ranked = sorted(averages)
    if not ranked:
        return correction
    return min(max(correction, ranked[(len(ranked) - 1) // 2]), ranked[len(ranked) // 2])
