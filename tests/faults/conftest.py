from __future__ import annotations

import pytest

from tests.faults.providers import ProviderFaults


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The faults that a provider's class lists, one test each."""
    if metafunc.cls is not None and issubclass(metafunc.cls, ProviderFaults):
        for kind in {"final", "passing", "midway"} & set(metafunc.fixturenames):
            metafunc.parametrize(kind, getattr(metafunc.cls, kind))
