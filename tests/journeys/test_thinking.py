"""A model that thinks before it answers, as a person sees it."""

from __future__ import annotations

import re
from threading import Event

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_thoughts_are_seen_as_they_come_and_opened_again_after(alice: Person, llm: LlmServer) -> None:
    go_on = Event()
    thoughts = "Is it 5432? 😀\n\nNo, that is the **old** one. Surely."
    llm.enqueue("It is 5433.", thoughts=thoughts, holds={"Surely.": go_on})
    alice.begins()
    alice.says("Which port?")
    thought = alice.page.locator(".thought")
    expect(thought.locator(".thoughts")).to_have_text(thoughts)
    expect(thought).to_contain_text(re.compile(r"Thinking… \d+ s"))
    expect(alice.page.get_by_text("Waiting for")).to_be_hidden()
    alice.page.reload()
    expect(thought.locator(".thoughts")).to_have_text(thoughts)
    go_on.set()
    alice.is_answered("It is 5433.")
    expect(thought.locator("details")).not_to_have_attribute("open", "")
    expect(thought).to_contain_text(re.compile(r"Thought for \d+ s"))
    alice.page.reload()
    head = thought.locator("summary")
    head.focus()
    alice.page.keyboard.press("Enter")
    expect(thought.locator(".thoughts strong")).to_have_text("old")
    expect(thought).to_contain_text("Later turns go without them")
    assert alice.complaints == []


def test_thoughts_close_where_no_words_follow_unless_a_person_opened_them(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    for number, is_opened in enumerate([False, True]):
        llm.enqueue("Never said.", thoughts="Is it? Surely.", holds={"Surely.": (go_on := Event())})
        alice.says("Which port?")
        thought = alice.page.locator(".thought details").nth(number)
        expect(thought).to_contain_text("Surely.")
        for _ in range(2 * is_opened):
            thought.locator("summary").click()
        alice.page.get_by_role("button", name="Stop").click()
        expect(thought).to_contain_text("Thought for")
        go_on.set()
        if is_opened:
            expect(thought).to_contain_text("Later turns go without them")
        else:
            expect(thought).not_to_have_attribute("open", "")
    assert alice.complaints == []
