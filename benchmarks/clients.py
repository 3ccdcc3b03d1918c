"""What official clients get through the gateway: `python -m benchmarks.clients`.

Each client holds a conversation of 500 turns with a model of 32,000 tokens, several windows long, sends its whole
history at every turn, and asks each time for a code that it said at some turn before. Counted are the requests that
were longer than the window, those that did not hold the code, results of tools without their calls, and requests that
were changed although they fit. The model's summaries are refused, so that sentences are selected.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import openai

from benchmarks.goals import end, note, sized
from compression.core.tokens import count_tokens
from tests.faults.serving import LoudSite
from tests.furnishing import furnish
from tests.llm_server import LlmServer

TURNS = sized(500, small=12)
WINDOW = sized(32_000, small=4_000)
TOOL_TURN = 10
"""Every so many turns, a tool is used."""
WORDS = sized(60, small=40)
NOTHING = "## Summary\nThings were said.\n\n## State\n- Done: nothing"
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}

type Messages = list[dict[str, Any]]
type Ask = Callable[[Messages], str]
"""Sends a history, in the form of chat completions, through a client, and returns the checkpoint that was used."""


@dataclass
class Counts:
    overflows: int = 0
    lost: int = 0
    parted: int = 0
    changed: int = 0
    failed: int = 0
    compacted: int = 0
    milliseconds: list[float] = field(default_factory=list)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as folder, LlmServer() as llm:
        llm.default_summary = lambda request: NOTHING
        key, _ = furnish(Path(folder))
        site = LoudSite(Path(folder), llm_url=llm.url, window=WINDOW, COMPRESSION_COOLDOWN_SECONDS="0")
        with site:
            for name, ask in CLIENTS.items():
                told(name, lived(ask(f"{site.url}/v1", key), llm, seed=name))


def chat(url: str, key: str) -> Ask:
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)

    def ask(messages: Messages) -> str:
        create = client.chat.completions.with_raw_response.create
        answer = create(model="scripted", messages=messages, tools=[TOOL])  # type: ignore[call-overload]
        return str(answer.headers["x-chatsite-checkpoint"])

    return ask


def responses(url: str, key: str) -> Ask:
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    tool: Any = {"type": "function", **TOOL["function"], "strict": False}

    def ask(messages: Messages) -> str:
        create = client.responses.with_raw_response.create
        answer = create(model="scripted", input=list(as_items(messages)), tools=[tool], store=False)  # type: ignore[arg-type]
        return str(answer.headers["x-chatsite-checkpoint"])

    return ask


def anthropics(url: str, key: str) -> Ask:
    client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=0)
    tool: Any = {"name": TOOL["function"]["name"], "input_schema": TOOL["function"]["parameters"]}

    def ask(messages: Messages) -> str:
        system, *said = messages
        answer = client.messages.with_raw_response.create(
            model="scripted", max_tokens=1_000, system=system["content"], messages=list(as_blocks(said)), tools=[tool]
        )
        return str(answer.headers["x-chatsite-checkpoint"])

    return ask


def as_items(messages: Messages) -> Iterator[Any]:
    """The history as items of OpenAI's Responses."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}
        if message["role"] == "tool":
            yield {
                "type": "function_call_output",
                "call_id": message["tool_call_id"],
                "output": message["content"],
            }
        elif message["content"]:
            yield {"role": message["role"], "content": message["content"]}


def as_blocks(messages: Messages) -> Iterator[Any]:
    """The history as messages of Anthropic's form."""
    for message in messages:
        if message["role"] == "tool":
            result = {
                "type": "tool_result",
                "tool_use_id": message["tool_call_id"],
                "content": message["content"],
            }
            yield {"role": "user", "content": [result]}
        elif calls := message.get("tool_calls"):
            uses = [
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "input": json.loads(call["function"]["arguments"]),
                }
                for call in calls
            ]
            yield {"role": "assistant", "content": uses}
        else:
            yield message


CLIENTS: dict[str, Callable[[str, str], Ask]] = {
    f"openai {openai.__version__}, chat completions": chat,
    f"openai {openai.__version__}, responses": responses,
    f"anthropic {anthropic.__version__}, messages": anthropics,
}


def lived(ask: Ask, llm: LlmServer, *, seed: str) -> Counts:
    """The counts of a conversation of TURNS turns, unlike those of other seeds."""
    counts, chance, codes = Counts(), random.Random(seed), dict[int, str]()
    messages: Messages = [{"role": "system", "content": "You help with a warehouse."}]
    for turn in range(TURNS):
        codes[turn] = f"{chance.choice('QXZ')}{chance.randrange(100_000, 999_999)}"
        asked = chance.randrange(turn + 1)
        messages.append({"role": "user", "content": said(chance, turn, codes[turn], asked)})
        _ask(ask, messages, llm, counts, code=codes[asked])
        if turn % TOOL_TURN == TOOL_TURN - 1:
            messages += used(chance, turn)
            _ask(ask, messages, llm, counts, code=codes[asked])
        messages.append({"role": "assistant", "content": f"Noted for shelf {turn}. " + talk(chance)})
    return counts


def _ask(ask: Ask, messages: Messages, llm: LlmServer, counts: Counts, *, code: str) -> None:
    llm.clear()
    began = time.perf_counter()
    try:
        checkpoint = ask(messages)
    except (openai.APIError, anthropic.APIError):
        counts.failed += 1
        return
    counts.milliseconds.append(1e3 * (time.perf_counter() - began))
    sent = llm.chats[-1].body
    text = json.dumps(sent["messages"], ensure_ascii=False)
    counts.overflows += count_tokens(text) > WINDOW
    counts.lost += code not in text
    counts.parted += parted(sent["messages"])
    counts.changed += checkpoint == "none" and as_compared(sent["messages"]) != as_compared(messages)
    counts.compacted += checkpoint == "made"


def as_compared(messages: Messages) -> Messages:
    """The messages with the arguments of calls as objects: by other protocols these come as such."""
    return json.loads(json.dumps(messages), object_hook=_with_arguments)  # type: ignore[no-any-return]


def _with_arguments(held: dict[str, Any]) -> dict[str, Any]:
    return held | {"arguments": json.loads(held["arguments"])} if "arguments" in held else held


def said(chance: random.Random, turn: int, code: str, asked: int) -> str:
    return f"The code of shelf {turn} is {code}. {talk(chance)} What was the code of shelf {asked}?"


def used(chance: random.Random, turn: int) -> Messages:
    call = {"name": "read_file", "arguments": json.dumps({"path": f"stock/{turn}.csv"})}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"call_{turn}", "content": talk(chance, words=4 * WORDS)},
    ]


def talk(chance: random.Random, *, words: int = WORDS) -> str:
    """Words of people in a warehouse, of which none says anything."""
    return " ".join(chance.choices(TALK.split(), k=words)).capitalize() + "."


TALK = (
    "pallet forklift aisle delivery carton label scanner driver dock ramp morning crew order list crate strap film box "
    "count check stack load move wait sort pick pack send hold call ask tell bring leave come late early heavy light"
)


def parted(messages: Messages) -> int:
    """The number of results of tools whose call is not there."""
    called = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    return sum(message["role"] == "tool" and message["tool_call_id"] not in called for message in messages)


def told(name: str, counts: Counts) -> None:
    faults = {what: getattr(counts, what) for what in ("failed", "overflows", "lost", "parted", "changed")}
    marks = note(not any(faults.values()), f"{name}: {faults}")
    told = ", ".join(f"{number} {what}" for what, number in faults.items())
    median = statistics.median(counts.milliseconds)
    print(
        f"{name}: {TURNS} turns, {counts.compacted} compactions, {median:.0f} ms a request: {told}{marks}", flush=True
    )


if __name__ == "__main__":
    main()
    end()
