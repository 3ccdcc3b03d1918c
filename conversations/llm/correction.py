"""How far our token counts are from a model's own, learned from what its provider reports."""

from __future__ import annotations

FIRST = {"openai": 1.05, "other": 1.25}
"""Where a model starts: our counts are exact for OpenAI's text, but not for what surrounds it."""
WEIGHT = 0.2
"""Of the newest report in the moving average."""


def learned(correction: float, *, estimated: int, reported: int) -> float:
    """The correction after one more report: tokens as we counted them, uncorrected, and as the provider did.

    A report outside half to twice the estimate says that one of the two measured something else, and is ignored.
    """
    if estimated <= 0 or not estimated / 2 <= reported <= estimated * 2:
        return correction
    return round((1 - WEIGHT) * correction + WEIGHT * reported / estimated, 4)
