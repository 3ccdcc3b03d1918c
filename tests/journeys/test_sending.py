"""What is typed while it cannot be sent, commands that are none, and the editor that the keyboard opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_enter_while_a_reply_is_written_keeps_the_text_and_says_so(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("word " * 500, drip=0.05)
    alice.says("Go on for long")
    expect(alice.replies.last).to_contain_text("word word word")
    alice.says("And then?")
    note = alice.page.locator("#not-sent")
    expect(note).to_have_text("A reply is being written: Stop it or wait; your text stays here.")
    expect(note).to_be_visible()
    expect(note).to_have_attribute("role", "status")
    expect(alice.box).to_have_value("And then?")
    alice.page.locator("#stop").click()
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    expect(note).to_be_empty()
    expect(alice.box).to_have_value("And then?")
    llm.enqueue("Then this.")
    alice.box.press("Enter")
    alice.is_answered("Then this.")
    assert alice.complaints == []


def test_enter_while_a_message_is_on_its_way_keeps_what_was_written_since(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    held: list[Route] = []
    alice.page.route("**/send", lambda route: held.append(route))
    alice.says("One?")
    alice.box.press_sequentially(" Two?")
    alice.box.press("Enter")
    expect(alice.page.locator("#not-sent")).to_contain_text("your text stays here")
    assert len(held) == 1
    llm.enqueue("So it is.")
    held[0].continue_()
    alice.is_answered("So it is.")
    expect(alice.box).to_have_value(" Two?")


def test_help_opens_the_sheet_and_no_command_is_sent_to_the_model(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    alice.says("/help")
    sheet = alice.page.get_by_role("dialog")
    expect(sheet.get_by_role("heading", name="Keyboard")).to_be_visible()
    alice.page.keyboard.press("Escape")
    expect(alice.box).to_have_value("")
    for typed in ("/foo", "/fooled by all of it", "/compct keep the ports"):
        alice.says(typed)
        expect(alice.page.locator("#alert")).to_contain_text(f"There is no command {typed.split()[0]}.")
        expect(alice.page.locator("#alert")).to_contain_text("To send it as text, begin with a space.")
        expect(alice.box).to_have_value(typed)
    expect(alice.page.locator("#alert")).to_contain_text("/compact")
    expect(alice.page.locator("#thread .message")).to_have_count(0)
    assert llm.chats == []
    for typed in ("/etc/hosts is wrong", " /foo"):
        llm.enqueue(f"About {typed}.")
        alice.says(typed)
        alice.is_answered(f"About {typed}.")
        assert typed.strip() in llm.chats[-1].text


def test_up_opens_the_editor_in_sight_with_the_focus_in_it(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(10))
    llm.enqueue("A long answer.\n\n" * 120)
    alice.says("Tell me all")
    alice.is_answered("A long answer.")
    alice.box.press("ArrowUp")
    editor = alice.page.get_by_role("textbox", name="Your message")
    expect(editor).to_be_focused()
    expect(editor).to_be_in_viewport(ratio=1)
    expect(alice.page.get_by_role("button", name="Save & ask again")).to_be_in_viewport(ratio=1)
    alice.page.keyboard.type(" of it")
    expect(editor).to_have_value("Tell me all of it")
    expect(editor).to_be_in_viewport(ratio=1)
