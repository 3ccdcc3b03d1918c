"""Answers a request for a compaction: with the items and a summary in place of the older ones
(`/v1/responses/compact`), or with one item that replaces all (an input that ends with a `compaction_trigger`).
"""

from __future__ import annotations

import time
from itertools import accumulate

from compression.core.tokens import count_tokens
from conversations.gateway.checkpoints import State
from conversations.gateway.chunks import event
from conversations.gateway.history import History
from conversations.gateway.openai_responses.compaction import compaction_item
from conversations.gateway.openai_responses.items import COMPACTIONS, TRIGGER, items_of, starts_of
from conversations.gateway.openai_responses.reply import ended, new_id, usage_of
from conversations.gateway.protocol import CallerRequest, Json


def is_trigger(body: Json) -> bool:
    """Whether a request asks for a compaction item instead of an answer."""
    items = body.get("input")
    return isinstance(items, list) and isinstance(items[-1], dict) and items[-1].get("type") == TRIGGER


def compacted(asked: CallerRequest, history: History, state: State | None) -> Json:
    """The answer with all items; without a summary, the caller's own as they are."""
    return {
        "id": new_id("resp"),
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": [_in_full(item) for item in shortened(asked.body, history, state)],
        "usage": usage_of(_usage(state), asked),
    }


def in_one(asked: CallerRequest, history: History, state: State | None) -> Json:
    """The response whose only item replaces the whole input: the summary, and the remaining items."""
    items = [item for item in shortened(asked.body, history, state) if item.get("type") not in (*COMPACTIONS, TRIGGER)]
    summary = state.context if state else ""
    return ended(new_id("resp"), asked, [compaction_item(new_id("cmp"), summary, items)], "stop", _usage(state))


def as_stream(response: Json) -> str:
    """The events of a response that was made at once."""
    (item,) = response["output"]
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    steps: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return "".join(event(step["type"], step | {"sequence_number": number}) for number, step in enumerate(steps))


def _usage(state: State | None) -> Json:
    return {"completion_tokens": count_tokens(state.context) if state and state.context else 0}


def shortened(body: Json, history: History, state: State | None) -> list[Json]:
    """The caller's own items with a compaction item in place of the summarised ones.

    Items before the first line and those of `kept` lines come first; a call is never parted from its result.
    """
    items = items_of(body["input"]) if body.get("input") is not None else []
    if state is None or not state.is_summary:
        return items
    firsts = _firsts(body, history, len(items))
    kept = [item for line in state.kept for item in items[firsts[line] : firsts[line + 1]]]
    summary = compaction_item(new_id("cmp"), state.context)
    return [*items[: firsts[0]], *kept, summary, *items[firsts[state.place] :]]


def _in_full(item: Json) -> Json:
    """An item in OpenAI's full form: short forms of messages are written out."""
    if item.get("type", "message") != "message" or not isinstance(item["content"], str):
        return {"type": "message"} | item
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    return {"type": "message"} | item | {"content": [{"type": kind, "text": item["content"]}]}


def _firsts(body: Json, history: History, count: int) -> list[int]:
    """The number of the first item of each line, and at last their count."""
    ahead = len(history.lead) - (1 if body.get("instructions") else 0)
    starts = [*starts_of(body["input"]), count]
    return [starts[at] for at in accumulate((len(line.raw) for line in history.lines), initial=ahead)]
