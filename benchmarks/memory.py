"""What a request still tells of a long conversation: `python -m benchmarks.memory`, without any model.

Real chats are lived: their messages come one by one, and before each question of the person there is made room as in
every turn, by the extractive summariser. Then each of their questions is put as the next message, and the request that
would leave for the model is judged: the share of the answer's words, less the question's, that stand anywhere in it.
With recall and without; the tokens are those of the requests. Then, what recall costs over many messages.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import time
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.goals import end, held, sized
from benchmarks.measures import content
from benchmarks.site import site

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CHATS = sized(
    {"beam": (16_384, 32_768), "locomo": (8_192,)},
    small={"locomo": (8_192,)},
)
"""The windows that each set of chats is lived in."""
MOST = sized(100, small=1)
"""Chats of a set."""
MESSAGES = sized(100_000, small=2_000)
LOOKS = sized(300, small=20)
PARTS = sized(100, small=4)
"""Conversations into which as many messages as one has are copied, for searches."""
GOAL_P50, GOAL_P99, GOAL_RARE = 10.0, 25.0, 50.0
"""Milliseconds: of CPU for recall, by the clock for a rare word among ten times as many messages."""


class Told(NamedTuple):
    share: float
    tokens: int
    kind: str


def main() -> None:
    with site(**({"DATABASE_URL": url} if (url := os.environ.get("DATABASE_URL")) else {})):
        for name, windows in CHATS.items():
            files = sorted((DATA / name).glob("*.json"))[:MOST]
            for window in windows:
                lived(name, [json.loads(file.read_text(encoding="utf-8")) for file in files], window)
        cost()
    end()


def lived(name: str, chats: list[dict[str, Any]], window: int) -> None:
    found: dict[bool, list[Told]] = {True: [], False: []}
    whole: list[float] = []
    compactions = 0
    for chat in chats:
        conversation, count = live(chat, window)
        compactions += count
        words = content("\n".join(message["content"] for message in chat["messages"]))
        for question in chat["qa"]:
            if not (answer := content(str(question["answer"])) - content(question["question"])):
                continue
            whole.append(len(answer & words) / len(answer))
            for recalls in found:
                found[recalls].append(ask(conversation, question, answer, recalls))
    if not whole:
        print(f"{name}: not there")
        return
    print(f"{name}, window {window:,}, {len(chats)} chats, {len(whole)} questions, {compactions} compactions")
    print(f"   whole history       {statistics.mean(whole):.3f}")
    for recalls, rows in found.items():
        share, tokens = statistics.mean(row.share for row in rows), statistics.mean(row.tokens for row in rows)
        print(f"   recall {'on' if recalls else 'off':<12} {share:.3f}  {tokens:,.0f} tokens a request", flush=True)
    kinds = sorted({row.kind for row in found[True]})
    for kind in kinds:
        with_it, without = (
            statistics.mean(row.share for row in found[recalls] if row.kind == kind) for recalls in (True, False)
        )
        print(f"      {kind:<26} {with_it:.3f} on, {without:.3f} off")


def live(chat: dict[str, Any], window: int) -> tuple[Any, int]:
    """The conversation after all of its messages, and how often it was compacted."""
    from compression.models import Compaction
    from conversations.compaction import trigger
    from conversations.context import message_index
    from conversations.context.transcript import message_tokens
    from conversations.models import Conversation, Message, ModelProfile

    ModelProfile.objects.update(window=window, token_correction=1.0)
    policy = {"summariser": "extractive", "cooldown": 0, "ahead": False}
    conversation = Conversation.objects.create(owner_id=1, model_id=1, policy=policy)
    latest = datetime.min
    for number, message in enumerate(chat["messages"]):
        said = datetime.fromisoformat(message["created_at"])
        latest = said if number == 0 or said > latest else latest + timedelta(microseconds=1)
        Message.objects.create(
            conversation=conversation, role=message["role"], content=message["content"], name=message.get("name") or "",
            created_at=latest, token_count=message_tokens(message["content"], role=message["role"]),
        )  # fmt: skip
        if message["role"] == "user":
            asyncio.run(trigger.ensure_room(conversation.pk))
    message_index.keep_up()
    done = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    return conversation, done.count()


def ask(conversation: Any, question: dict[str, Any], answer: frozenset[str], recalls: bool) -> Told:
    """What the request for a question tells; it is not kept, so that each finds the same conversation."""
    from conversations.context import prompt, recall
    from conversations.context.transcript import message_tokens
    from conversations.context.usage import usage_of
    from conversations.models import Conversation, Message

    Conversation.objects.filter(pk=conversation.pk).update(policy=conversation.policy | {"recall": recalls})
    last = conversation.messages.latest("created_at")
    text = question["question"]
    row = Message.objects.create(
        conversation=conversation, role="user", content=text, token_count=message_tokens(text),
        created_at=last.created_at + timedelta(minutes=1),
    )  # fmt: skip
    loaded = recall.load_for_request(conversation.pk)
    used = usage_of(loaded)
    told = content("\n".join(str(one["content"]) for one in prompt.assemble(loaded).messages[:-1]))
    row.delete()
    assert used is not None
    kind = str(question.get("kind", question.get("category", "")))
    return Told(len(answer & told) / len(answer), used.total, kind)


def cost() -> None:
    """Recall in one conversation of many messages, beside the rest of a turn; and searches among ten times as many."""
    from conversations.context import message_index as index
    from conversations.context import recall, transcript
    from conversations.models import Message

    chance, words, weights = vocabulary()
    conversation = filled(chance, words, weights)
    indexed()
    last = conversation.messages.latest("created_at")
    samples: dict[str, list[float]] = {"loading a conversation": [], "recall": []}
    for _ in range(LOOKS):
        question = "What about " + " ".join(chance.choices(words, weights, k=8)) + "?"
        Message.objects.filter(pk=last.pk).update(role="user", content=question)
        index.catch_up()
        began = time.process_time()
        loaded = transcript.load(conversation.pk)
        between = time.process_time()
        recall.recalling(loaded)
        samples["loading a conversation"].append(1e3 * (between - began))
        samples["recall"].append(1e3 * (time.process_time() - between))
    for part, times in samples.items():
        times.sort()
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        if part == "recall":
            p50, p99 = (
                held(found, goal, "{:.1f}", what=f"recall, {name}")
                for name, found, goal in (("p50", p50, GOAL_P50), ("p99", p99, GOAL_P99))
            )
        else:
            p50, p99 = f"{p50:.1f}", f"{p99:.1f}"
        print(f"{part}, {MESSAGES:,} messages: {p50} ms p50, {p99} ms p99 of CPU")
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

    from conversations.context import message_index as index

    began = time.perf_counter()
    while index.catch_up(most=10_000, seconds=60):
        if connection.vendor == "sqlite":  # as the upkeep of a site does
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    took = time.perf_counter() - began
    print(f"{index.count():,} messages are indexed, the last of them in {took:.1f} s", flush=True)


def looked_for(words: str, *, goal: float = inf) -> None:
    from django.contrib.auth import get_user_model

    from conversations.context import message_index as index
    from conversations.messages import search

    user = get_user_model().objects.get(pk=1)
    times = []
    for _ in range(LOOKS // 10):
        began = time.perf_counter()
        hits = len(search.find_hits(user, words).hits)
        times.append(1e3 * (time.perf_counter() - began))
    told = held(statistics.median(times), goal, "{:.1f}", what=f"a search for {words!r}")
    print(f"a search for {words!r} in {index.count():,} messages: {told} ms, {hits} on the first page", flush=True)


if __name__ == "__main__":
    main()
