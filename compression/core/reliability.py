"""How far a model can be trusted with a conversation that was compressed some number of times."""

from __future__ import annotations

LOSS = 0.9
"""What a compression leaves of the trust."""
BY_SIZE = ((70, 0.95), (30, 0.85), (13, 0.7), (7, 0.5))
"""Billions of parameters from which a model starts with that trust."""
SMALLEST = 0.3
UNKNOWN_API, UNKNOWN_LOCAL = 0.95, 0.5
WARN_AFTER = ((3, 3), (7, 5), (13, 7))
"""Compressions after which a person is warned, up to that many billions of parameters."""
WARN_AT_MOST = 10


def reliability(parameters: float | None, *, is_local: bool, compactions: int) -> float:
    """From 0 to 1. `parameters` are billions, None where they are not known."""
    if parameters is None:
        start = UNKNOWN_LOCAL if is_local else UNKNOWN_API
    else:
        start = next((trust for least, trust in BY_SIZE if parameters >= least), SMALLEST)
    return float(start * LOSS**compactions)


def warns_after(parameters: float | None) -> int:
    """How many compressions it takes until a fresh conversation is the better way to go on."""
    if parameters is None:
        return WARN_AT_MOST
    return next((count for most, count in WARN_AFTER if parameters <= most), WARN_AT_MOST)
