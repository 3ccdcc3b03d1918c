"""Strategies of valid inputs that are spoilt: JSON with other values in some places, files with other bytes."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("FUZZ_CASES", "40"))
"""Inputs of each test; `make torture` sets more."""
fuzzed = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=CASES <= 40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        "",
        "\0",
        "\ud800",
        "\u202e",
        "a" * 70_000,
        "%s%n",
        "{{x}}",
        "<script>",
        "../../etc/passwd",
        "1e999",
        "NaN",
        "😀" * 300,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
"""Any JSON."""

Path = tuple[str | int, ...]


def _places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


@st.composite
def spoilt(draw: st.DrawFn, *valid: Any) -> Any:
    """One of the valid values, in which one to three places are gone, doubled, moved or another value."""
    value = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 3))):
        *path, key = draw(st.sampled_from([*_places(value)][1:] or [(0,)]))
        holder = value
        for step in path:
            holder = holder[step]
        if not holder:
            return draw(VALUES)
        how = draw(st.sampled_from(["other", "gone", "within", "doubled"]))
        if how == "gone":
            del holder[key]
        elif how == "within":
            holder[key] = [holder[key]]
        elif how == "doubled" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[key] = draw(VALUES)
    return value


@st.composite
def damaged(draw: st.DrawFn, *valid: bytes) -> bytes:
    """One of the files, of which some bytes are others, a stretch is gone or doubled, or the end is missing."""
    data = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        to = min(len(data), at + draw(st.integers(1, 64)))
        how = draw(st.sampled_from(["other", "gone", "doubled", "cut"]))
        if how == "other":
            data[at:to] = draw(st.binary(min_size=1, max_size=64))
        elif how == "gone":
            del data[at:to]
        elif how == "doubled":
            data[at:at] = data[at:to]
        else:
            del data[at:]
    return bytes(data)
