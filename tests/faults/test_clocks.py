"""Clocks that are set an hour forward and back: messages keep their order, work goes on, undo finds the last state."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from django.utils import timezone

from compression.core.values import Steering
from compression.models import Compaction, Snapshot
from conversations.compaction import compaction
from conversations.compaction import snapshots as states
from conversations.models import Conversation
from tests.conversations.chat import fill
from tests.faults.serving import LoudSite, Served, furnish
from tests.llm_server import LlmServer
from tests.servers import wait_until

HOUR = timedelta(hours=1)
STATE = ("compressed_context", "compressed_tokens", "compressed_at")


class ShiftedSite(LoudSite):
    def start(self, *, wait: bool = True) -> Self:
        return self.run("tests.faults.shifted", "serve", "--port", str(self.port))


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    file = tmp_path / "clock"
    file.write_text("0")
    return file


@pytest.fixture
def served(tmp_path: Path, clock: Path) -> Iterator[Served]:
    data = tmp_path / "data"
    data.mkdir()
    key, cookie = furnish(data)
    with (
        LlmServer() as llm,
        ShiftedSite(data, llm_url=llm.url, window=4_000, CLOCK=str(clock), LEASE_SECONDS="5") as site,
    ):
        yield Served(site, llm, key, cookie)
        assert "Traceback" not in (data / "serve.log").read_text()


def messages(served: Served, id: str) -> list[dict[str, Any]]:
    items = served.ask("GET", f"/api/conversations/{id}/messages?limit=200")["items"]
    return [item for item in items if "role" in item]


@pytest.mark.long
@pytest.mark.once
def test_a_chat_goes_on_through_summaries_while_the_clock_jumps(served: Served, clock: Path) -> None:
    id = served.ask("POST", "/api/conversations", {"title": "clocks"})["id"]
    said = 0
    for seconds in (0, 3_600, 0, -3_600, 0, 3_600):
        clock.write_text(str(seconds))
        for _ in range(5):
            said += 1
            content = f"Mark {said}. " + f"word{said} " * 150
            served.ask("POST", f"/api/conversations/{id}/messages", {"content": content})
        rows = messages(served, id)
        assert [row["content"].split(".")[0] for row in rows if row["role"] == "user"] == [
            f"Mark {number}" for number in range(1, said + 1)
        ]
        assert all(row["status"] == "complete" for row in rows)
        sent = str(served.llm.chats[-1].body["messages"])
        live = [f"Mark {number}." in sent for number in range(1, said + 1)]
        assert live[-1] and len(served.llm.chats[-1].body["messages"]) < 2 * said
    with closing(sqlite3.connect(served.site.data / "chatsite.sqlite3")) as database:
        found = database.execute("SELECT status FROM compression_compaction ORDER BY created_at, id").fetchall()
    assert len(found) >= 4 and {status for (status,) in found} <= {"succeeded", "ready", "discarded"}, found


@pytest.mark.once
@pytest.mark.parametrize("seconds", [pytest.param(3_600, marks=pytest.mark.long), -3_600])
def test_a_reply_that_is_being_written_when_the_clock_jumps_is_stored_whole(
    served: Served, clock: Path, seconds: int
) -> None:
    id = served.ask("POST", "/api/conversations", {"title": "clocks"})["id"]
    text = " ".join(f"word{number}" for number in range(200))
    for _ in range(4):  # with the clock an hour ahead, its lease is over, and it is taken up again
        served.llm.enqueue(text, drip=0.01)
    with ThreadPoolExecutor() as pool:
        said = pool.submit(served.ask, "POST", f"/api/conversations/{id}/messages", {"content": "go on"}, timeout=60)
        wait_until(lambda: bool(messages(served, id)), what="the message")
        clock.write_text(str(seconds))
        said.result()
    assert [(row["status"], row["content"]) for row in messages(served, id)[1:]] == [("complete", text)]
    assert len(served.llm.chats) == 1 or seconds > 0


def test_the_latest_compaction_and_state_are_the_latest_though_the_clock_was_set_back(
    conversation: Conversation, llm: LlmServer
) -> None:
    fill(conversation, 30)
    last = conversation.messages.latest("created_at").created_at
    first = compaction.request(conversation, trigger="manual", steering=Steering())
    for rows in (Compaction.objects, Snapshot.objects):  # as if they had been made with the clock an hour ahead
        for row in rows.all():
            rows.filter(pk=row.pk).update(created_at=row.created_at + HOUR)
    before = Conversation.objects.values(*STATE).get(pk=conversation.pk)
    for number in range(20):
        content = f"Later message {number} says port {9_000 + number}. " + "and so on " * 30
        conversation.messages.create(role="user", content=content, created_at=last + timedelta(minutes=1 + number))
    second = compaction.request(conversation, trigger="manual", steering=Steering())
    assert Compaction.objects.first() == second and states.in_effect(conversation.pk)[0].compaction == second
    compaction.undo(conversation, second.pk)
    assert Conversation.objects.values(*STATE).get(pk=conversation.pk) == before
    states.take_snapshot(conversation)
    assert list(states.in_effect(conversation.pk).values_list("compaction", flat=True)) == [first.pk]


def test_what_lies_in_the_future_does_not_hold_up_what_a_person_asks_for(conversation: Conversation) -> None:
    fill(conversation, 30)
    for number in range(compaction.RUNS_A_MINUTE):
        Compaction.objects.create(
            conversation=conversation,
            trigger="manual",
            status="failed",
            created_at=timezone.now() + HOUR + timedelta(seconds=number),
            finished_at=timezone.now() + HOUR,
            summariser="scripted",
        )
    done = compaction.request(conversation, trigger="manual", steering=Steering())
    done.refresh_from_db()
    assert (done.status, done.summariser) == ("succeeded", "scripted")
