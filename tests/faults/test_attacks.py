"""A short form of the attacks of `make torture`: the site answers while it is attacked, and the attack is told so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.torture.attacks import Ground, ground, registry, run

BUSY = 2_000.0
"""Milliseconds: other tests run at the same time. What they are about took the site 7,000 and more."""
SHORT = [name for name, one in registry().items() if one.is_short]


@pytest.fixture(scope="module")
def site() -> Iterator[Ground]:
    with ground() as made:
        yield made


@pytest.mark.parametrize("name", SHORT)
def test_the_site_answers_while_it_is_attacked(site: Ground, name: str) -> None:
    found = run(site, registry()[name])
    assert found.worst < BUSY and not found.failures, found
    assert "500" not in found.answers, found
