"""No reader's time grows faster than its text, whatever is repeated in it: one message stalls nobody else."""

from __future__ import annotations

import os
import time
from itertools import count

import pytest

from compression.core.ledger.find import find_entries
from tests.core.readers import PIECES, READERS, made
from tests.growth import growth

PAIRS = [(one, one) for one in PIECES] + [(one, other) for one in PIECES for other in PIECES if one != other]
CHOSEN = PAIRS if os.environ.get("PAIRS") == "all" else PAIRS[: len(PIECES)]
LARGEST = int(os.environ.get("LARGEST", "8000"))


_numbers = count()


def unlike(text: str) -> str:
    """The text with an end of its own: what a reader keeps of texts that it knows would hide its time."""
    return f"{text}{next(_numbers)}"


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_time_in_step_with_its_text(reader: str) -> None:
    slow = {}

    def read(text: str) -> None:
        READERS[reader](unlike(text))

    for one, other in CHOSEN:
        pair = one if one == other else one + other
        found = growth(read, lambda size, pair=pair: made(pair, size), start=2_000, largest=LARGEST)
        if not found.is_linear:
            slow[pair] = found.times
    assert not slow


@pytest.mark.long
def test_a_reader_that_is_slow_from_the_first_size_on_is_found() -> None:
    def burn(size: int) -> None:
        until = time.process_time() + 1.2 * (size / 4_000) ** 2
        while time.process_time() < until:
            pass

    assert not growth(burn, lambda size: size, start=4_000, largest=16_000).is_linear


def test_a_message_of_dots_is_read_at_once() -> None:
    began = time.process_time()
    find_entries(made(".", 640_000))
    assert time.process_time() - began < 2
