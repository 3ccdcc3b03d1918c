"""Days between messages, and times, in the person's zone and language."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_each_day_has_a_line_and_each_message_its_time(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    for number in range(3):
        llm.enqueue(f"Answer {number}.")
        alice.says(f"Question {number}?")
        alice.is_answered(f"Answer {number}.")
    with closing(sqlite3.connect(alice.site.data / "chatsite.sqlite3")) as database:
        rows = database.execute("SELECT id, created_at FROM conversations_message ORDER BY created_at").fetchall()
        for (id, moment), days in zip(rows[-6:], (400, 400, 1, 1, 0, 0), strict=True):
            earlier = datetime.fromisoformat(moment) - timedelta(days=days)
            database.execute(
                "UPDATE conversations_message SET created_at = ? WHERE id = ?", (earlier.isoformat(" "), id)
            )
        database.commit()
    page.reload()
    days = page.locator("#thread > .day")
    expect(days).to_have_count(3)
    expect(days.nth(0)).to_have_text(re.compile(rf"{(datetime.now(UTC) - timedelta(days=400)).year}"))
    expect(days.nth(1)).to_have_text("Yesterday")
    expect(days.nth(2)).to_have_text("Today")
    time = alice.replies.last.locator(".acts time")
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d"))
    expect(time).to_have_attribute("title", re.compile(r"\d{4}"))
    llm.enqueue("Answer 3.")
    alice.says("Question 3?")
    alice.is_answered("Answer 3.")
    expect(days).to_have_count(3)
    alice.replies.first.get_by_role("button", name="Regenerate", exact=True).click()
    llm.enqueue("Another.")
    alice.replies.first.get_by_role("button", name="Regenerate all the same").click()
    alice.is_answered("Another.")
    expect(days).to_have_count(2)
    assert alice.complaints == []
