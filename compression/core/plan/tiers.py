"""The token budget of the base instructions, by the size of the window."""

from __future__ import annotations

TIERS = ((4_096, "minimal", 200), (8_192, "basic", 500), (32_768, "standard", 1_000), (131_072, "premium", 1_500))
ULTRA = ("ultra", 1_500)


def tier(window: int) -> tuple[str, int]:
    """(name, token budget) of the tier that a window of `window` tokens belongs to."""
    return next(((name, budget) for limit, name, budget in TIERS if window <= limit), ULTRA)


def tier_budget(window: int) -> int:
    """The most tokens that the base instructions may take in a window of `window` tokens."""
    return tier(window)[1]
