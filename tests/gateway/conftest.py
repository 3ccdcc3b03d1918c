from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.serving import Served, serving
from tests.gateway.caller import Caller

SETTINGS = {
    "OPENAI_CONTEXT_WINDOW": "4000",
    "COMPRESSION_COOLDOWN_SECONDS": "0",
    "MODEL_TIMEOUT_SECONDS": "2",
    "LEASE_SECONDS": "4",
    "MAX_CALLS_PER_USER": "8",
    "MAX_REQUESTS": "2",
    "GATEWAY_RETRIES": "0",  # one scripted answer is one request
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A site for the tests of a file: a window of 4,000 tokens, and a local model's share of it is 3,400.

    A site learns from its provider's answers; another file's tests would change its requests.
    """
    folder: Path = tmp_path_factory.mktemp("site")
    with serving(folder, **SETTINGS) as site:
        yield site


@pytest.fixture
def caller(served: Served) -> Caller:
    """A program that calls the gateway; no request, call or token report of an earlier test is left."""
    served.llm.clear()
    caller = Caller(served)
    caller.rows("DELETE FROM conversations_gatewaycall")
    caller.rows("UPDATE conversations_modelprofile SET token_correction = 1.05, token_reports = '[]'")
    return caller
