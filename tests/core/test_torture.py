from __future__ import annotations

import pytest

from tests.core.torture import torture


@pytest.mark.parametrize("seed", range(4))
def test_no_conversation_of_any_shape_breaks_what_must_always_hold(seed: int) -> None:
    """A short form of `make torture`, whose figures are in docs/torture.md."""
    tally = torture(15, seed)
    assert tally.runs >= 15
    assert {"compressed (fickle)", "compressed (extractive)", "compressed (truncation)"} <= set(tally.outcomes)
