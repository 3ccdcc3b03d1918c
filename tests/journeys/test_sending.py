"""What is typed while it cannot be sent, commands that are none, and the editor that the keyboard opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_what_is_sent_while_a_reply_is_written_waits_and_goes_in_order(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("word " * 60, drip=0.05)
    llm.enqueue("Second answer.")
    llm.enqueue("Third answer.")
    alice.says("Go on for long")
    expect(alice.replies.last).to_contain_text("word word word")
    queue = alice.page.locator("#queue li")
    for text in ("And then?", "And last?"):
        alice.says(text)
        expect(alice.box).to_have_value("")
    expect(queue).to_have_count(2)
    expect(queue.first).to_contain_text("when the reply is there")
    expect(alice.page.locator("#stop")).to_be_visible()
    alice.page.reload()
    expect(queue).to_have_count(2)
    alice.is_answered("Third answer.", seconds=30)
    expect(queue).to_have_count(0)
    said = alice.page.locator(".message.user")
    expect(said).to_have_count(3)
    expect(said.nth(1)).to_contain_text("And then?")
    assert alice.complaints == []


def test_a_waiting_message_is_edited_removed_and_sent_after_stop(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("word " * 500, drip=0.05)
    alice.says("Go on for long")
    expect(alice.replies.last).to_contain_text("word word word")
    for text in ("One?", "Two?"):
        alice.says(text)
        expect(alice.box).to_have_value("")
    queue = alice.page.locator("#queue li")
    expect(queue).to_have_count(2)
    queue.last.get_by_role("button", name="Remove from the queue").click()
    expect(queue).to_have_count(1)
    alice.box.fill("And this.")
    queue.first.get_by_role("button", name="Edit").click()
    expect(alice.box).to_have_value("One?\n\nAnd this.")
    expect(alice.box).to_be_focused()
    alice.box.press("Enter")
    expect(queue).to_have_count(1)
    alice.page.locator("#stop").click()
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    llm.enqueue("Then this.")
    expect(queue.first).to_contain_text("waits for you")
    queue.first.get_by_role("button", name="Send now").click()
    alice.is_answered("Then this.")
    expect(queue).to_have_count(0)
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
