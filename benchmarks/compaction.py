"""A table of docs/measured.md: `python -m benchmarks.compaction`.

Each real conversation of `../shared/data` is imported, compressed by the extractive summariser as the built-in
model's conversations are (a window of 8,192 tokens, 85 % of it used), and chatted on with a scripted model, whose
last request is checked: every earlier message is represented in it. Tokens are those of all that would be sent:
system prompt, summary and messages, counted with o200k_base.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.conversations import DATA
from benchmarks.goals import sized
from benchmarks.site import site
from tests.llm_server import LlmServer

SETS = ("locomo", "swe")
HEAD = "| conversation | messages | tokens before | after | reduction | facts kept | time |"


def main() -> None:
    files = [path for path in sorted(DATA.glob("*/*.json")) if path.parent.name in SETS]
    files = sized(files, small=files[:1])
    if not files:
        sys.exit(f"The conversations are not there: {DATA}")
    with LlmServer() as llm, site():
        rows = asyncio.run(measured(files, llm))
    print(HEAD)
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        print("| {name} | {messages} | {before:,} | {after:,} | {reduction:.1f} % | {facts} | {ms} ms |".format(**row))
    middle, imports = statistics.median(row["ms"] for row in rows), sum(row["import"] for row in rows)
    print(f"\nMedian time {middle:.0f} ms; imports {imports:.1f} s in all.")


async def measured(files: list[Path], llm: LlmServer) -> list[dict[str, Any]]:
    from asgiref.sync import sync_to_async

    from compression.core.tokens import count_tokens
    from conversations.llm.providers.builtin import WINDOW
    from conversations.models import ModelProfile

    count_tokens("warm")
    builtin, scripted = [
        await sync_to_async(ModelProfile.objects.create)(
            name=name, provider=provider, model_id=name, base_url=llm.url, window=WINDOW, is_local=True,
            token_correction=1.0,
        )
        for name, provider in (("demo", "builtin"), ("scripted", "openai"))
    ]  # fmt: skip
    return [await one(path, builtin, scripted, llm) for path in files]


async def one(path: Path, builtin: Any, scripted: Any, llm: LlmServer) -> dict[str, Any]:
    from asgiref.sync import sync_to_async

    from compression.core.values import Steering
    from compression.models import Compaction
    from conversations.compaction import compaction, lease
    from conversations.exchange.imports import import_conversations
    from conversations.requests import usage
    from conversations.runtime import queue
    from tests.conversations.chat import Chat

    started = time.perf_counter()
    [conversation] = await sync_to_async(import_conversations)(await sync_to_async(owner)(), path.read_bytes())
    took = time.perf_counter() - started
    conversation.model = builtin
    await conversation.asave()
    before = await sync_to_async(usage.usage_of_conversation)(conversation)
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering())
    await compaction.run(row.pk)
    row = await Compaction.objects.aget(pk=row.pk)
    assert (row.status, row.summariser) == ("succeeded", "extractive"), (path.name, row.status, row.error)
    after = await sync_to_async(usage.usage_of_conversation)(conversation)
    conversation.model = scripted
    await conversation.asave()
    queue.attach(asyncio.get_running_loop())
    chat = Chat(conversation, llm)
    assert (await chat.say("Where were we?")).status == "complete"
    await chat.check()
    await chat.idle()  # what the turn has begun in the background is no part of the next conversation's time
    return {
        "name": f"{path.parent.name}/{path.stem}",
        "messages": len(json.loads(path.read_text())["messages"]),
        "before": before.total,
        "after": after.total,
        "reduction": 100 * (1 - after.total / before.total),
        "facts": f"{row.facts_kept} of {row.facts_found}",
        "ms": row.duration_ms,
        "import": took,
    }


def owner() -> Any:
    from django.contrib.auth import get_user_model

    return get_user_model().objects.get()


if __name__ == "__main__":
    main()
