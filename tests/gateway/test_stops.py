"""A server that stops while calls are under way: soon, without a traceback, and leaving no lock."""

from __future__ import annotations

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

from tests.faults.serving import serving
from tests.gateway.caller import Caller
from tests.gateway.conftest import SETTINGS

STOPS_IN = 9
"""Seconds: the server waits 5 for calls under way, then .5 for tasks; the rest is for a busy machine."""


def test_a_server_that_stops_leaves_no_lock_and_no_traceback(tmp_path: Path) -> None:
    patient = SETTINGS | {"MODEL_TIMEOUT_SECONDS": "20", "STOP_GRACE_SECONDS": "0.5"}
    with serving(tmp_path, **patient) as served, ThreadPoolExecutor(4) as pool:
        caller = Caller(served)
        long, short = caller.history(61), caller.history(1)
        served.llm.summary_takes(seconds=20)
        served.llm.enqueue("word " * 400, drip=0.05)
        served.llm.enqueue("late", delay=20)
        stream = pool.submit(said, caller, {"messages": short, "stream": True})
        served.llm.wait_for(lambda llm: len(llm.chats) == 1)
        others = [pool.submit(said, caller, {"messages": messages}) for messages in (short, long, long)]
        served.llm.wait_for(lambda llm: len(llm.chats) == 2 and len(llm.summaries) >= 1)
        began = time.monotonic()
        served.site.process.send_signal(signal.SIGTERM)
        served.site.process.wait(20)
        assert time.monotonic() - began < STOPS_IN
        assert isinstance(stream.result(), httpx2.HTTPError)
        for other in others:
            told = other.result()
            assert (told.status_code, told.headers["retry-after"]) == (503, "5"), told
    assert not caller.rows("SELECT * FROM conversations_folding")
    assert {row["status"] for row in caller.rows("SELECT status FROM compression_compaction")} == {"failed"}
    assert [row["status"] for row in caller.rows("SELECT status FROM conversations_gatewaycall")] == [499] * 4


def said(caller: Caller, body: dict[str, Any]) -> httpx2.Response | httpx2.HTTPError:
    try:
        return caller.post(json.dumps({"model": "scripted"} | body))
    except httpx2.HTTPError as broken:
        return broken
