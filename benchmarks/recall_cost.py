"""What recall and search cost over many messages: in one conversation, and on a site with ten times as many."""

from __future__ import annotations

import random
import statistics
import time
from datetime import datetime, timedelta
from math import inf
from typing import Any

from benchmarks.goals import held, sized

MESSAGES = sized(100_000, small=500)
LOOKS = sized(300, small=20)
PARTS = sized(100, small=4)
"""Conversations into which as many messages as one has are copied, for searches."""
GOAL_P50, GOAL_P99, GOAL_RARE = 10.0, 25.0, 50.0
"""Milliseconds: of CPU for recall (on PostgreSQL, which works in processes of its own, by the clock), and by the clock
for a rare word among ten times as many messages.
"""


def measure() -> None:
    """Recall in one conversation of many messages, beside the rest of a turn; and searches among ten times as many."""
    from conversations.context import transcript
    from conversations.memory import message_index as index
    from conversations.memory import recall
    from conversations.models import Message
    from conversations.runtime.database import is_sqlite

    now, unit = (time.process_time, "of CPU") if is_sqlite() else (time.perf_counter, "by the clock")
    chance, words, weights = vocabulary()
    conversation = filled(chance, words, weights)
    indexed()
    last = conversation.messages.latest("created_at")
    samples: dict[str, list[float]] = {"loading a conversation": [], "recall": []}
    found: list[bool] = []
    for _ in range(LOOKS):
        question = "What about " + " ".join(chance.choices(words, weights, k=8)) + "?"
        Message.objects.filter(pk=last.pk).update(role="user", content=question)
        index.catch_up()
        began = now()
        loaded = transcript.load(conversation.pk)
        between = now()
        found.append(recall.recalling(loaded).recalled is not None)
        samples["loading a conversation"].append(1e3 * (between - began))
        samples["recall"].append(1e3 * (now() - between))
    assert any(found), "recall looked for nothing"
    for part, times in samples.items():
        times.sort()
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        if part == "recall":
            p50, p99 = (
                held(value, goal, "{:.1f}", what=f"recall, {name}")
                for name, value, goal in (("p50", p50, GOAL_P50), ("p99", p99, GOAL_P99))
            )
        else:
            p50, p99 = f"{p50:.1f}", f"{p99:.1f}"
        print(f"{part}, {MESSAGES:,} messages: {p50} ms p50, {p99} ms p99 {unit}")
    multiplied(conversation)
    indexed()
    looked_for("zanzibar", goal=GOAL_RARE)
    looked_for(words[0])
    looked_for(" ".join(words[rank] for rank in (3, 30, 300, 3_000)))


def vocabulary() -> tuple[random.Random, list[str], list[float]]:
    """A thousand words said often, and many said seldom, as in texts of people."""
    chance = random.Random(7)
    words = [
        f"{chance.choice('bdfgklmnprst')}{chance.choice('aeiou')}{chance.choice('bdgklmnprst')}{number}"
        for number in range(30_000)
    ]
    return chance, words, [1 / (rank + 3) for rank in range(len(words))]


def filled(chance: random.Random, words: list[str], weights: list[float]) -> Any:
    """A conversation of which all but the last messages are compacted; one word was said once."""
    from compression.models import Checkpoint, Compaction
    from conversations.models import Conversation, Message

    conversation = Conversation.objects.create(owner_id=1, model_id=1)
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    for first in range(0, MESSAGES, 5_000):
        rows = [
            Message(
                conversation=conversation, role=("user", "assistant")[number % 2], token_count=60,
                content=" ".join(chance.choices(words, weights, k=40)) + ".",
                created_at=start + timedelta(seconds=number),
            )
            for number in range(first, min(first + 5_000, MESSAGES))
        ]  # fmt: skip
        Message.objects.bulk_create(rows)
    Message.objects.filter(created_at=start + timedelta(seconds=17)).update(content="The zanzibar of it all.")
    conversation.compressed_at = start + timedelta(seconds=MESSAGES - 20)
    conversation.compressed_context, conversation.compressed_tokens = "[Compressed Message Summary]\n\nTalk.", 12
    conversation.save()
    last = conversation.messages.filter(created_at__lte=conversation.compressed_at).latest("created_at")
    row = Compaction.objects.create(conversation=conversation, trigger="manual", status="succeeded")
    Checkpoint.objects.create(  # recall has a third of what the summary stands for
        conversation=conversation, compaction=row, number=1, level=1, summary="Talk.", token_count=12,
        original_tokens=60 * (MESSAGES - 20), first_message=last.pk, last_message=last.pk,
        last_message_at=last.created_at, digest="",
    )  # fmt: skip
    return conversation


def multiplied(conversation: Any) -> None:
    """Ten times as many messages of the same person, in shorter conversations, but for the one with the rare word."""
    from django.db import connection

    from conversations.models import Conversation, Message

    id = "lower(hex(randomblob(16)))" if connection.vendor == "sqlite" else "gen_random_uuid()"
    columns = [field.column for field in Message._meta.concrete_fields]
    copied = {"id": id, "conversation_id": "%s"}
    source, part = conversation.pk, max(MESSAGES // PARTS, 1)
    start = conversation.messages.earliest("created_at").created_at
    for number in range(9 * PARTS):
        to = Conversation.objects.create(owner_id=1, model_id=1)
        first = start + timedelta(seconds=part * (number % PARTS))
        key = [one.hex if connection.vendor == "sqlite" else one for one in (to.pk, source)]
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO conversations_message ({', '.join(columns)}) "
                f"SELECT {', '.join(copied.get(column, column) for column in columns)} FROM conversations_message "
                "WHERE conversation_id = %s AND created_at >= %s AND created_at < %s AND content NOT LIKE 'The zan%%'",
                [*key, first, first + timedelta(seconds=part)],
            )


def indexed() -> None:
    from django.db import connection

    from conversations.memory import message_index as index

    began = time.perf_counter()
    while index.catch_up(most=10_000, seconds=60):
        if connection.vendor == "sqlite":  # as the upkeep of a site does
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    took = time.perf_counter() - began
    print(f"{index.count():,} messages are indexed, the last of them in {took:.1f} s", flush=True)


def looked_for(words: str, *, goal: float = inf) -> None:
    from django.contrib.auth import get_user_model

    from conversations.memory import message_index as index
    from conversations.messages import search

    user = get_user_model().objects.get(pk=1)
    times = []
    for _ in range(LOOKS // 10):
        began = time.perf_counter()
        hits = len(search.find_hits(user, words).hits)
        times.append(1e3 * (time.perf_counter() - began))
    told = held(statistics.median(times), goal, "{:.1f}", what=f"a search for {words!r}")
    print(f"a search for {words!r} in {index.count():,} messages: {told} ms, {hits} on the first page", flush=True)
