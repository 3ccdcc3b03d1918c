"""A whole server killed in the middle of an agent's run; the next one goes on with it."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.faults.serving import Served, serving
from tests.servers import wait_until

pytestmark = pytest.mark.once
TASK = ("delegate_task", json.dumps({"task": "Add 4 and 5."}))
NINE = ("calculate", '{"expression": "4 + 5"}')


@pytest.mark.long
def test_a_run_goes_on_after_a_kill(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with closing(sqlite3.connect(served.site.data / "chatsite.sqlite3")) as database, database:
            database.execute("UPDATE conversations_modelprofile SET calls_tools = 1")
        agent = served.ask("POST", "/api/conversations", {"kind": "agent"})["id"]
        served.llm.enqueue("", calls=[TASK])
        served.llm.enqueue("", calls=[NINE])
        served.llm.enqueue("Nobody hears this.", delay=60)
        path = f"/api/conversations/{agent}"
        threading.Thread(target=_ask, args=(served, f"{path}/messages"), daemon=True).start()
        served.llm.wait_for(lambda llm: len(llm.chats) == 3)
        served.site.crash()
        served.llm.enqueue("The sum is 9.")
        served.llm.enqueue("It is nine.")
        served.site.start()
        wait_until(lambda: _last(served, path)["content"] == "It is nine.", what="the answer")
        (run,) = served.ask("GET", f"{path}/runs")["items"]
        assert (run["status"], run["turns"]) == ("done", 1)
        steps = served.ask("GET", f"{path}/runs/{run['id']}")["steps"]
        assert [step["kind"] for step in steps] == ["assignment", "tools", "result"]
        assert [call["result"] for call in steps[1]["tool_calls"]] == ["9"]


def _ask(served: Served, path: str) -> None:
    """Its answer never comes: the server is killed meanwhile."""
    with pytest.raises(OSError):
        served.ask("POST", path, {"content": "What is 4 and 5?"})


def _last(served: Served, path: str) -> Any:
    return served.ask("GET", f"{path}/messages?limit=50")["items"][-1]
