"""What preparing a turn costs, and what a turn writes, as a conversation grows: `python -m benchmarks.context`.

Load, usage, trigger check and assembly of one request, in milliseconds of CPU, at 20, 2,000 and 200,000 stored
messages of which the last 20 are live; and the bytes that a turn adds to SQLite's write-ahead log.
"""

from __future__ import annotations

import statistics
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.site import site

SIZES = (20, 2_000, 200_000)
LIVE = 20
ROUNDS = 300
TURNS = 300


def main() -> None:
    with site():
        from conversations import prompt, room, transcript
        from conversations.usage import measured

        def prepare(conversation: Any) -> None:
            loaded = transcript.load(conversation.pk)
            assert measured(loaded) is not None
            assert not room.is_due(loaded)
            assert len(prompt.assemble(loaded).messages) > 1

        conversations = {size: filled(size) for size in SIZES}
        samples: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(ROUNDS):
            for size, conversation in conversations.items():
                started = time.process_time()
                prepare(conversation)
                samples[size].append(1000 * (time.process_time() - started))
        medians = {size: statistics.median(values) for size, values in samples.items()}
        for size, median in medians.items():
            print(f"{size:>8,} messages: {median:.2f} ms CPU")
        print(f"   ratio, {SIZES[-1]:,} to {SIZES[0]:,}: {medians[SIZES[-1]] / medians[SIZES[0]]:.2f}")
        for size, conversation in conversations.items():
            print(f"{size:>8,} messages: {written(conversation) / 1024:.1f} KiB written a turn")


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
    if count > LIVE:
        conversation.compressed_at = start + timedelta(microseconds=count - LIVE - 1)
        conversation.compressed_context = "[Compressed Message Summary]\n\n" + text * 10
        conversation.compressed_tokens = 400
        conversation.save()
    return conversation


def written(conversation: Any) -> float:
    """Bytes a turn adds to the write-ahead log: question, pending reply, end."""
    from django.conf import settings

    from conversations import background, questions, replies, reply_lease

    log = Path(str(settings.DATABASES["default"]["NAME"]) + "-wal")
    before = log.stat().st_size
    send = background._dispatch
    background._dispatch = lambda *_: None  # the row is all that is measured
    try:
        for number in range(TURNS):
            begun = questions.begin(conversation, content=f"question {number} " + "with some words " * 20)
            reply, token = begun.reply.pk, begun.reply.lease_token
            assert reply_lease.check(reply, token) is reply_lease.Held.OURS
            replies.finish(
                reply, token, status="complete", content="an answer " * 60, tokens=124, error="", profile=None,
                spent=None, estimated=0,
            )  # fmt: skip
    finally:
        background._dispatch = send
    return (log.stat().st_size - before) / TURNS


if __name__ == "__main__":
    sys.exit(main())
