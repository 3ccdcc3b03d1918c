"""How long the parts of a long transcript take: `python -m benchmarks.parts`.

A conversation of 140,000 tokens, made of the words below, is compacted by a scripted model over HTTP that reads 8,192
tokens and answers every request after DELAY seconds, with its parts one and four at a time. Time is that of the whole
compaction by the clock; requests and tokens are those that the model was sent, tokens by our own count; the time left
is the one that people are told when the first part is done, beside the one that it took then.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from benchmarks.goals import sized
from benchmarks.site import site
from compression.core.sections import SECTIONS
from tests.llm_answers import Request, text_of
from tests.llm_server import LlmServer

TOKENS = sized(140_000, small=30_000)
DELAY = sized(1.0, small=0.1)
AT_ONCE = (1, 4)
WINDOW, SUMMARISER_WINDOW = 200_000, 8_192


def main() -> None:
    print("| parts at once | requests | tokens sent | time | left after the first part, told | as it was |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with LlmServer() as llm, site():
        llm.summary_takes(seconds=DELAY)
        llm.default_summary = summary_of_ports
        asyncio.run(measured(llm, 4, tokens=20_000))  # the first request of a process imports a library
        for at_once in AT_ONCE:
            figures = asyncio.run(measured(llm, at_once, tokens=TOKENS))
            row = "| {at_once} | {requests} | {tokens:,} | {seconds:.1f} s | {told:.1f} s | {left:.1f} s |"
            print(row.format(at_once=at_once, **figures))


async def measured(llm: LlmServer, at_once: int, *, tokens: int) -> dict[str, Any]:
    from asgiref.sync import sync_to_async
    from django.test import override_settings

    from compression.core.values import Steering
    from compression.models import Compaction
    from conversations.compaction import compaction, lease

    conversation = await sync_to_async(made)(llm, tokens)
    before = len(llm.summaries)
    row = await sync_to_async(lease.claim)(conversation.pk, trigger="manual", steering=Steering())
    began = time.perf_counter()
    with override_settings(COMPRESSION_PARTS_AT_ONCE=at_once):
        running = asyncio.ensure_future(compaction.run(row.pk))
        while not (first := await Compaction.objects.aget(pk=row.pk)).parts_done:
            await asyncio.sleep(0.01)
        done = time.perf_counter()
        await running
    ended = time.perf_counter()
    row = await Compaction.objects.aget(pk=row.pk)
    assert (row.status, row.summariser) == ("succeeded", "small"), (row.status, row.error, row.steps)
    asked = llm.summaries[before:]
    assert first.eta_ms is not None
    return {
        "requests": len(asked),
        "tokens": sum(request.tokens for request in asked),
        "seconds": ended - began,
        "told": first.eta_ms / 1000,
        "left": ended - done,
    }


def summary_of_ports(request: Request) -> str:
    """A summary with some of the sentences of the text that are about ports, from its beginning to its end."""
    said = sorted(set(re.findall(r"Message \d+ says port \d+", text_of(request.messages[-1]))))
    some = "\n".join(f"- {one}" for one in said[:: len(said) // 12 or 1])
    return "\n\n".join(f"## {name}\n{some if name == 'Context' else 'Ports of services.'}" for name in SECTIONS)


def made(llm: LlmServer, tokens: int) -> Any:
    """A new person's conversation, with a model that summarises in a small window beside the one that chats."""
    from conversations.models import Conversation, Message, ModelProfile, User
    from tests.conversations.chat import fill

    owner = User.objects.create(username=f"reader {User.objects.count()}")
    profiles = [
        ModelProfile.objects.get_or_create(
            name=name, provider="openai", model_id=name, base_url=llm.url, window=window, role=role,
            token_correction=1.0,
        )[0]
        for name, window, role in (("large", WINDOW, "chat"), ("small", SUMMARISER_WINDOW, "fast"))
    ]  # fmt: skip
    conversation = Conversation.objects.create(owner=owner, model=profiles[0])
    fill(conversation, 8, words=30)
    each = Message.objects.filter(conversation=conversation).latest("created_at").token_count
    Message.objects.filter(conversation=conversation).delete()
    fill(conversation, tokens // each, words=30)
    return conversation


if __name__ == "__main__":
    main()
