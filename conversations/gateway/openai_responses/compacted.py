"""Answers `/v1/responses/compact`: a caller's items with a summary in place of the older ones."""

from __future__ import annotations

import time
from itertools import accumulate

from compression.core.tokens import count_tokens
from conversations.gateway.checkpoints import State
from conversations.gateway.history import History
from conversations.gateway.openai_responses.compaction import compaction_item
from conversations.gateway.openai_responses.items import items_of, starts_of
from conversations.gateway.openai_responses.reply import new_id
from conversations.gateway.protocol import Json


def compacted(body: Json, history: History, state: State | None, *, tokens: int) -> Json:
    """The answer to a request that took so many `tokens`; without a summary, the caller's items as they are."""
    summary = state.context if state else ""
    written = count_tokens(summary) if summary else 0
    return {
        "id": new_id("resp"),
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": [_told(item) for item in shortened(body, history, state)],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + written,
        },
    }


def shortened(body: Json, history: History, state: State | None) -> list[Json]:
    """The caller's own items with a compaction item in place of those that the summary stands for.

    Items before the first line and those of `kept` lines come first; a call is never parted from its result.
    """
    items = items_of(body.get("input"))
    if state is None or not state.is_summary:
        return items
    firsts = _firsts(body, history, len(items))
    kept = [item for line in state.kept for item in items[firsts[line] : firsts[line + 1]]]
    summary = compaction_item(new_id("cmp"), state.context)
    return [*items[: firsts[0]], *kept, summary, *items[firsts[state.place] :]]


def _told(item: Json) -> Json:
    """An item as OpenAI tells it: short forms of messages written out."""
    if item.get("type", "message") != "message" or not isinstance(item["content"], str):
        return {"type": "message"} | item
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    return {"type": "message"} | item | {"content": [{"type": kind, "text": item["content"]}]}


def _firsts(body: Json, history: History, count: int) -> list[int]:
    """The number of the first item of each line, and at last their count."""
    ahead = len(history.lead) - (1 if body.get("instructions") else 0)
    starts = [*starts_of(body["input"]), count]
    return [starts[at] for at in accumulate((len(line.raw) for line in history.lines), initial=ahead)]
