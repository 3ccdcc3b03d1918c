"""Home is a chat: a person types at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_a_person_types_at_once_and_is_answered(alice: Person, llm: LlmServer) -> None:
    box = alice.page.get_by_label("Message", exact=True)
    expect(box).to_be_focused()
    alice.page.keyboard.type("/etc/hosts: what is it for? Two")
    alice.page.keyboard.press("Shift+Enter")
    alice.page.keyboard.type("lines.")
    expect(box).to_have_value("/etc/hosts: what is it for? Two\nlines.")
    alice.page.reload()
    expect(box).to_have_value("/etc/hosts: what is it for? Two\nlines.")
    llm.enqueue("It names hosts.")
    alice.page.keyboard.press("Enter")
    alice.page.wait_for_url("**/c/**")
    alice.is_answered("It names hosts.")
    expect(alice.box).to_be_focused()
    alice.page.goto(alice.site.url)
    expect(box).to_have_value("")
    assert alice.complaints == []


def test_a_starter_begins_the_message_and_a_refusal_keeps_it(alice: Person, llm: LlmServer) -> None:
    box = alice.page.get_by_label("Message", exact=True)
    alice.page.get_by_role("button", name="Weigh a decision").click()
    expect(box).to_be_focused()
    alice.page.keyboard.type("Move or stay?")
    expect(box).to_have_value(
        "Help me decide. Say what speaks for and against it, and what would change that: Move or stay?"
    )
    box.fill("word " * 30_000)
    alice.page.get_by_role("button", name="Send").click()
    expect(alice.page.get_by_role("alert")).to_contain_text("Too long for scripted by about")
    assert len(box.input_value()) == 150_000
    expect(box).to_be_focused()


def test_on_a_phone_the_box_comes_first_and_the_list_is_a_drawer(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(4))
    alice.page.set_viewport_size({"width": 390, "height": 844})
    alice.page.goto(alice.site.url)
    expect(alice.page.get_by_label("Message", exact=True)).to_be_in_viewport()
    expect(alice.page.locator("#side")).to_be_hidden()
    alice.page.get_by_role("button", name="Conversations", exact=True).click()
    expect(alice.page.locator("#conversations").get_by_role("link", name="A long talk")).to_be_in_viewport()
