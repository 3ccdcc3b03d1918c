"""A stream that is silent shows life: while a history is compacted, before the provider's first word, and after it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx2
import openai
import pytest
from anthropic import Anthropic

from tests.faults.serving import serving
from tests.gateway.caller import Caller
from tests.gateway.test_folding import LONG

PATHS = ("/chat/completions", "/messages", "/responses")
PINGS = {"/messages": 'event: ping\ndata: {"type": "ping"}\n\n'}
SECONDS = 0.6


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """A site that pings in each silence of SECONDS, with a window of 4,000 tokens."""
    more = {"GATEWAY_PING_SECONDS": str(SECONDS), "OPENAI_CONTEXT_WINDOW": "4000", "MAX_CALLS_PER_USER": "2"}
    with serving(tmp_path_factory.mktemp("site"), COMPRESSION_COOLDOWN_SECONDS="0", **more) as served:
        caller = Caller(served)
        heard(caller, "/chat/completions", HELLO)  # the first call of a process loads the libraries that it needs
        caller.call()  # which is recorded after its answer
        yield caller


@pytest.fixture
def caller(site: Caller) -> Caller:
    site.served.llm.clear()
    site.rows("DELETE FROM conversations_gatewaycall")
    return site


def body(path: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    named = {"input": messages} if path == "/responses" else {"messages": messages}
    return {"model": "scripted", "stream": True} | named | ({"max_tokens": 100} if path == "/messages" else {})


def heard(caller: Caller, path: str, messages: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """The whole answer, and the seconds between its parts."""
    parts, moments = [], [time.monotonic()]
    headers = {"Authorization": f"Bearer {caller.served.key}"}
    with httpx2.stream("POST", caller.url + path, json=body(path, messages), headers=headers, timeout=30) as answer:
        assert answer.status_code == 200
        for part in answer.iter_text():
            parts.append(part)
            moments.append(time.monotonic())
    return "".join(parts), [after - before for before, after in pairwise(moments)]


HELLO = [{"role": "user", "content": "Hello."}]


@pytest.mark.parametrize("path", PATHS)
def test_a_silent_provider(caller: Caller, path: str) -> None:
    caller.served.llm.enqueue("All right.", delay=2.5, drip=0.9)
    text, pauses = heard(caller, path, HELLO)
    ping = PINGS.get(path, ": ping\n\n")
    assert text.count(ping) >= 4 and "right." in text.replace(ping, "")
    assert max(pauses) < 2 * SECONDS
    (row,) = [caller.call()]
    assert row["status"] == 200 and row["first_token_ms"] >= 2_400


@pytest.mark.parametrize("path", PATHS)
def test_a_history_that_is_compacted_first(caller: Caller, path: str) -> None:
    caller.served.llm.summary_takes(seconds=2.5)
    messages = [one for one in caller.history(LONG, part=path) if one["role"] != "system"]
    text, pauses = heard(caller, path, messages)
    assert caller.summaries and text.startswith(PINGS.get(path, ": ping\n\n"))
    assert max(pauses) < 2 * SECONDS
    caller.served.llm.summary_takes(seconds=0)


@pytest.mark.parametrize("path", PATHS)
def test_a_late_fault_is_the_last_event_and_an_early_one_has_its_status(caller: Caller, path: str) -> None:
    caller.served.llm.enqueue(status=400, message="no", delay=1.5)
    text, _ = heard(caller, path, HELLO)
    last = json.loads(text.rstrip().rpartition("data: ")[2])
    fault = last.get("error") or last["response"]["error"]
    assert "provider refused this request" in fault["message"]
    caller.served.llm.enqueue(status=400, message="no")
    assert caller.post(json.dumps(body(path, HELLO)), path=path).status_code == 400


def test_a_caller_that_leaves_while_it_waits_gives_its_place_back(caller: Caller) -> None:
    for _ in range(3):  # one more than its places
        caller.served.llm.enqueue(delay=4)
        headers = {"Authorization": f"Bearer {caller.served.key}"}
        with httpx2.stream(
            "POST", f"{caller.url}/messages", json=body("/messages", HELLO), headers=headers, timeout=30
        ) as answer:
            next(answer.iter_text())
        caller.served.llm.wait_for(lambda llm: bool(llm.chats))
        time.sleep(0.2)
    assert [row["status"] for row in caller.rows("SELECT status FROM conversations_gatewaycall")] == [499] * 3
    caller.served.llm.clear()
    assert caller.post(json.dumps(body("/messages", HELLO)), path="/messages").status_code == 200


def test_official_clients_read_on_over_pings(caller: Caller) -> None:
    caller.served.llm.enqueue("All right.", delay=1.5, drip=0.9, times=3)
    client = openai.OpenAI(base_url=caller.url, api_key=caller.served.key)
    said = client.chat.completions.create(model="scripted", messages=HELLO, stream=True)  # type: ignore[call-overload]
    assert "".join(one.choices[0].delta.content or "" for one in said if one.choices) == "All right."
    with client.responses.stream(model="scripted", input="Hello.") as answer:
        assert answer.get_final_response().output_text == "All right."
    claude = Anthropic(base_url=caller.url.removesuffix("/v1"), api_key=caller.served.key)
    with claude.messages.stream(model="scripted", max_tokens=100, messages=HELLO) as message:  # type: ignore[arg-type]
        assert message.get_final_text() == "All right."
