"""What a turn costs as a conversation grows: `python -m benchmarks.context`, on the database of DATABASE_URL.

At 200, 2,000 and 200,000 stored messages, of which the last 20 are live:

- preparing a turn (load, usage, trigger check, assembly of one request), in milliseconds of CPU and by the clock;
- all of it that is stored, from begin to finish;
- the rows that each of its queries reads, by the plans of PostgreSQL; the bytes that a turn adds to SQLite's log.

The sizes take turns, so that whatever else the machine does is the same for all of them.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.goals import end, held, sized
from benchmarks.site import site

SIZES = sized((200, 2_000, 200_000), small=(200, 2_000))
LIVE = 20
ROUNDS = sized(300, small=5)
TURNS = sized(150, small=5)
FLAT = 1.2
"""What the largest may cost, beside the smallest."""

Times = dict[int, tuple[float, float]]
"""Medians by size: milliseconds of CPU, and by the clock."""


def main() -> None:
    with site(**({"DATABASE_URL": url} if (url := os.environ.get("DATABASE_URL")) else {})):
        from django.db import connection

        conversations = {size: filled(size) for size in SIZES}
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        told("preparing a turn", medians(conversations, prepare, ROUNDS))
        if connection.vendor == "postgresql":
            for size, conversation in conversations.items():
                print(f"{size:>8,} messages: {rows_read(lambda it=conversation: prepare(it)):,} rows read to prepare")
        told("a turn, begin to finish", medians(conversations, turn, TURNS))
        if connection.vendor == "sqlite":
            for size, conversation in conversations.items():
                print(f"{size:>8,} messages: {written(conversation) / 1024:.1f} KiB written a turn")


def told(what: str, found: Times) -> None:
    for size, (cpu, wall) in found.items():
        print(f"{size:>8,} messages: {cpu:.2f} ms CPU, {wall:.2f} ms by the clock: {what}")
    ratios = (found[SIZES[-1]][which] / found[SIZES[0]][which] for which in (0, 1))
    cpu, wall = (held(ratio, FLAT, "{:.2f}", what=f"{what}, from few to many messages") for ratio in ratios)
    print(f"   ratio, {SIZES[-1]:,} to {SIZES[0]:,}: {cpu} of the CPU, {wall} by the clock", flush=True)


def medians(conversations: dict[int, Any], act: Callable[[Any], None], rounds: int) -> Times:
    samples: dict[int, list[tuple[float, float]]] = {size: [] for size in conversations}
    for _ in range(rounds):
        for size, conversation in conversations.items():
            began, used = time.perf_counter(), time.process_time()
            act(conversation)
            samples[size].append((time.process_time() - used, time.perf_counter() - began))
    return {
        size: (1e3 * statistics.median(cpu for cpu, _ in those), 1e3 * statistics.median(wall for _, wall in those))
        for size, those in samples.items()
    }


def filled(count: int) -> Any:
    """A conversation of `count` messages, all but the last 20 before the cut."""
    from django.utils import timezone

    from conversations.models import Conversation, Message

    conversation = Conversation.objects.create(owner_id=1, model_id=1, system_prompt="Be brief.")
    start = timezone.now() - timedelta(days=1)
    text = "Some forty tokens of talk about the weather, the ports that are open, and what is for lunch. " * 2
    for first in range(0, count, 5_000):
        Message.objects.bulk_create(
            Message(
                conversation=conversation,
                role=("user", "assistant")[number % 2],
                content=text,
                created_at=start + timedelta(microseconds=number),
                token_count=40,
            )
            for number in range(first, min(first + 5_000, count))
        )
    conversation.compressed_at = start + timedelta(microseconds=count - LIVE - 1)
    conversation.compressed_context = "[Compressed Message Summary]\n\n" + text * 10
    conversation.compressed_tokens = 400
    conversation.save()
    return conversation


def prepare(conversation: Any) -> None:
    from conversations.compaction import trigger
    from conversations.context import prompt, transcript
    from conversations.requests.usage import usage_of

    loaded = transcript.load(conversation.pk)
    assert usage_of(loaded) is not None
    assert not trigger.is_due(loaded)
    assert len(prompt.assemble(loaded).messages) > 1


def turn(conversation: Any) -> None:
    """All but the model: nobody is there to answer, so that the reply is ours to end."""
    from conversations.messages import replies, reply_lease
    from conversations.messages.answer import Answer
    from conversations.runtime import queue
    from conversations.turns import begin

    send, queue._dispatch = queue._dispatch, lambda *_: None
    try:
        begun = begin.begin(conversation, content="a question " + "with some words " * 20)
    finally:
        queue._dispatch = send
    token = begun.reply.lease_token
    assert token and reply_lease.check(begun.reply.pk, token) is reply_lease.LeaseState.OURS
    prepare(conversation)
    replies.finish(Answer(begun.reply.pk, pieces=["an answer " * 60]), token, status="complete", tokens=124)


def rows_read(act: Callable[[], None]) -> int:
    """By all parts of the plans of PostgreSQL, whether they are of use or not."""
    from django.db import connection

    total = 0

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal total
        with connection.connection.cursor() as cursor:
            plan = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params).fetchone()[0]
        total += read(plan[0]["Plan"] if not isinstance(plan, str) else json.loads(plan)[0]["Plan"])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        act()
    return total


def read(node: dict[str, Any]) -> int:
    own = 0 if "Plans" in node else node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(own * node["Actual Loops"]) + sum(read(part) for part in node.get("Plans", ()))


def written(conversation: Any) -> float:
    """Bytes a turn adds to the write-ahead log: question, pending reply, end."""
    from django.conf import settings

    log = Path(str(settings.DATABASES["default"]["NAME"]) + "-wal")
    before = log.stat().st_size
    for _ in range(TURNS):
        turn(conversation)
    return (log.stat().st_size - before) / TURNS


if __name__ == "__main__":
    main()
    end()
