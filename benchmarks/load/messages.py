"""Turns that are stored and nothing else: a question with its pending reply, the claim of it, its end.

A turn is two messages, in two commits that wait for the disk. Asked for by one thread, then by several, each with
conversations of its own, as requests are that come at the same time.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.goals import sized
from benchmarks.load.figures import row, spread, table
from benchmarks.load.place import DATABASES, place

SECONDS = sized(5.0, small=0.3)
THREADS = (1, 8)
QUESTION, ANSWER = "A question with some words. " * 10, "An answer with many more. " * 40


def main() -> None:
    if "inside" in sys.argv[1:]:
        measure()
        return
    table("turns stored", "messages/s", "a turn, p50", "p99", "CPU a turn, without the database's")
    for database in DATABASES:
        with place(database) as site:
            site.fill(max(THREADS))
            for line in site.run("benchmarks.load.messages", "inside").splitlines():
                print(line.format(database=database), flush=True)


def measure() -> None:
    import django

    django.setup()
    from conversations.models import Conversation
    from conversations.runtime import queue

    queue._dispatch = lambda *_: None  # nobody answers: the rows are all that is measured
    rows = list(Conversation.objects.select_related("model"))
    for threads in THREADS:
        used, began = time.process_time(), time.monotonic()
        with ThreadPoolExecutor(threads) as pool:
            took = [seconds for some in pool.map(turns, rows[:threads]) for seconds in some]
        elapsed, used = time.monotonic() - began, time.process_time() - used
        middle, slow = spread(took)
        row(
            f"{{database}}, {threads} thread{'s' * (threads > 1)}",
            f"{2 * len(took) / elapsed:,.0f}",
            f"{1e3 * middle:.1f} ms",
            f"{1e3 * slow:.1f} ms",
            f"{1e3 * used / len(took):.1f} ms",
        )


def turns(conversation: Any) -> list[float]:
    from django.db import connection

    took: list[float] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        began = time.monotonic()
        turn(conversation)
        took.append(time.monotonic() - began)
    connection.close()
    return took


def turn(conversation: Any) -> None:
    """From begin to finish, but for the model."""
    from conversations.messages import replies, reply_lease
    from conversations.messages.answer import Answer
    from conversations.turns import begin

    begun = begin.begin(conversation, content=QUESTION)
    token = begun.reply.lease_token
    assert token and reply_lease.check(begun.reply.pk, token) is reply_lease.LeaseState.OURS
    ended = replies.finish(Answer(begun.reply.pk, pieces=[ANSWER]), token, status="complete", tokens=200)
    assert ended


if __name__ == "__main__":
    main()
