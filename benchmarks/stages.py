"""Where the time of a compaction goes: `python -m benchmarks.stages`.

Conversations of several sizes, made of the real ones of `../shared/data` one after the other, are compressed with a
scripted model over HTTP that answers at once (window 128,000 tokens). Time by the clock, medians of three: the whole
of it as its row has it, the model's calls, everything else, and the last stage, validation with the commit. Then the
same prepared ahead of time: what is left to wait for when it is put in force.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from itertools import cycle
from typing import Any

from benchmarks.conversations import DATA
from benchmarks.goals import sized
from benchmarks.site import site
from tests.llm_server import LlmServer

SIZES = sized((25_000, 100_000, 400_000), small=(10_000,))
ROUNDS = sized(3, small=1)


def main() -> None:
    files = sorted(DATA.glob("*/*.json"))
    if not files:
        sys.exit(f"The conversations are not there: {DATA}")
    said = [message for path in files for message in json.loads(path.read_text())["messages"]]
    with LlmServer() as llm, site():
        print("| tokens condensed | calls of the model | whole | model | everything else | validation | prepared |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for size in SIZES:
            rounds = [asyncio.run(measured(said, size, llm)) for _ in range(ROUNDS)]
            middle = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
            times = " | ".join(f"{middle[name]:.0f} ms" for name in ("whole", "model", "rest", "validate", "prepared"))
            print(f"| {middle['tokens']:,.0f} | {middle['calls']:.0f} | {times} |")


async def measured(said: list[dict[str, Any]], size: int, llm: LlmServer) -> dict[str, float]:
    from asgiref.sync import sync_to_async

    from compression.core.values import Steering
    from compression.models import Compaction
    from conversations.compaction import compaction, lease
    from conversations.runtime.events import hub

    conversation = await sync_to_async(made)(said, size, llm)
    llm.clear()
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering())
    moments: dict[str, float] = {}
    with hub.listen(conversation.pk) as listener:
        began = time.perf_counter()
        running = asyncio.ensure_future(compaction.run(row.pk))
        async for event in listener:
            if event.type == "compression.progress":
                moments.setdefault(event.data["stage"], time.perf_counter())
            if event.type == "compression.completed":
                break
        whole = time.perf_counter() - began
        await running
    row = await Compaction.objects.aget(pk=row.pk)
    assert (row.status, row.summariser) == ("succeeded", "scripted"), (row.status, row.error, row.steps)
    model = moments["checkpoint"] - moments["summarise"]
    return {
        "tokens": row.pre_tokens or 0,
        "calls": len(llm.summaries),
        "whole": 1000 * whole,
        "model": 1000 * model,
        "rest": 1000 * (whole - model),
        "validate": 1000 * (began + whole - moments["validate"]),
        "prepared": 1000 * await in_force(said, size, llm),
    }


async def in_force(said: list[dict[str, Any]], size: int, llm: LlmServer) -> float:
    """Seconds to put in force what was prepared."""
    from asgiref.sync import sync_to_async

    from compression.core.values import Steering
    from conversations.compaction import ahead_of_time, compaction, lease

    conversation = await sync_to_async(made)(said, size, llm)
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="ahead", steering=Steering())
    await compaction.run(row.pk)
    began = time.perf_counter()
    assert await sync_to_async(ahead_of_time.put_in_force)(conversation.pk)
    return time.perf_counter() - began


def made(said: list[dict[str, Any]], size: int, llm: LlmServer) -> Any:
    """A conversation of about `size` tokens, with a model of its own that the scripted server answers for."""
    from django.contrib.auth import get_user_model

    from compression.core.tokens import count_tokens
    from compression.models import KeptSummary
    from conversations.exchange.imports import import_conversations
    from conversations.models import ModelProfile
    from conversations.validation import MAX_CONTENT

    lines, tokens = [], 0
    for message in cycle(said):
        if message["role"] in ("user", "assistant") and 0 < len(message["content"]) <= MAX_CONTENT:
            lines.append({"role": message["role"], "content": message["content"]})
            tokens += count_tokens(message["content"])
        if tokens > size:
            break
    owner = get_user_model().objects.get()
    (row,) = import_conversations(owner, json.dumps({"title": "t", "messages": lines}).encode())
    row.model = ModelProfile.objects.get_or_create(
        name="scripted", defaults={"model_id": "m", "base_url": llm.url, "window": 128_000, "token_correction": 1.0}
    )[0]
    row.save()
    # An answer that was kept would save the call that is measured.
    KeptSummary.objects.all().delete()
    return row


if __name__ == "__main__":
    main()
