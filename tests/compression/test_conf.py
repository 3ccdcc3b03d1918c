from __future__ import annotations

from typing import Any

import pytest

from compression import conf
from compression.core.plan.policy import STRATEGIES


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_strategy_of_the_settings_is_the_policys(settings: Any, strategy: str) -> None:
    settings.COMPRESSION_STRATEGY = strategy
    assert conf.policy().strategy == strategy
    assert not conf.check_settings()


def test_checkpoints_is_the_default() -> None:
    assert conf.policy().strategy == "checkpoints"


def test_an_unknown_strategy_stops_the_start_and_names_the_setting(settings: Any) -> None:
    settings.COMPRESSION_STRATEGY = "magic"
    (error,) = conf.check_settings()
    assert error.msg == "COMPRESSION_STRATEGY must be one of checkpoints, rolling, continuation, truncate."
    assert error.is_serious()
