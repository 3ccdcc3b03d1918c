"""Typing is never lost: keystrokes while the chat is compacted, and the place of the keyboard's focus afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_keystrokes_while_it_compacts_stand_in_the_box_afterwards(
    at_site: Callable[..., Person], llm: LlmServer
) -> None:
    alice = at_site(window=4_000)
    alice.sets_up()
    alice.imports(long_conversation(60, words=60))
    llm.summary_takes(seconds=2)
    llm.enqueue("Port 5001 it is.")
    alice.says("Which port has service-1?")
    alice.page.keyboard.type("And the next", delay=20)
    expect(alice.box).to_be_disabled()
    alice.page.keyboard.type("?? ", delay=20)
    alice.page.keyboard.press("Backspace")
    alice.page.keyboard.press("Backspace")
    alice.page.keyboard.press("Enter")
    expect(alice.page.locator("#not-sent")).to_have_text("The chat is being compacted; your text stays here.")
    expect(alice.box).to_have_value("And the next?")
    alice.is_answered("Port 5001 it is.")
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("And the next?")
    expect(alice.box).to_be_focused()
    expect(alice.page.locator("#not-sent")).to_be_empty()
    alice.page.keyboard.type(" Now.")
    expect(alice.box).to_have_value("And the next? Now.")
    assert alice.complaints == []


def test_keystrokes_go_where_the_caret_was_and_outlast_a_reload(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    alice.box.fill("before  after")
    alice.box.evaluate("box => box.setSelectionRange(7, 7)")
    llm.summary_takes(seconds=3)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    alice.page.keyboard.type("one")
    expect(alice.box).to_have_value("before one after")
    alice.page.reload()
    expect(alice.box).to_be_disabled()
    expect(alice.box).to_have_value("before one after")
    expect(alice.page.locator("#meanwhile")).to_be_focused()
    alice.page.keyboard.type(" two")
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("before one after two")
    expect(alice.box).to_be_focused()
    assert alice.complaints == []


def test_a_slash_that_was_typed_while_it_compacts_opens_its_menu_afterwards(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    llm.summary_takes(seconds=2)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    alice.page.keyboard.type("/fi")
    expect(alice.page.locator("#slash")).to_be_hidden()
    expect(alice.box).to_be_enabled()
    expect(alice.page.locator("#slash [role=option]:visible")).to_have_text(["/find Find words in this chat"])
    alice.page.keyboard.press("Escape")
    expect(alice.box).to_have_value("/fi")
    assert alice.complaints == []


def test_a_long_paste_while_it_compacts_becomes_a_long_text(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    llm.summary_takes(seconds=3)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    alice.page.locator("#meanwhile").evaluate(
        """field => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", "line of a log\\n".repeat(40));
          field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }"""
    )
    alice.page.keyboard.type(" Why?")
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("[LongText#1] Why?")
    expect(alice.page.locator("#pastes .chip")).to_have_count(1)
    llm.enqueue("Because.")
    alice.page.keyboard.press("Enter")
    alice.is_answered("Because.")
    assert "line of a log\n" * 40 in str(llm.requests[-1]["messages"][-1]["content"])


def test_who_reads_elsewhere_meanwhile_is_not_called_back(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    llm.summary_takes(seconds=2)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    alice.page.locator("#search").focus()
    expect(alice.box).to_be_enabled()
    expect(alice.page.locator("#search")).to_be_focused()


def test_the_focus_is_in_the_box_after_an_edit_a_compaction_and_a_refusal(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("Hello.")
    alice.says("Helo")
    alice.is_answered("Hello.")
    alice.page.get_by_role("button", name="Edit").first.click()
    alice.page.get_by_label("Your message").fill("Hello")
    llm.enqueue("Hello to you.")
    alice.page.get_by_role("button", name="Save & ask again").click()
    alice.is_answered("Hello to you.")
    expect(alice.box).to_be_focused()

    alice.page.locator("#compact").click()
    expect(alice.status).to_contain_text("Nothing was compacted.")
    expect(alice.box).to_be_focused()
    alice.status.get_by_role("button", name="Dismiss").click()
    expect(alice.box).to_be_focused()

    alice.box.fill("word " * 30_000)
    alice.page.locator("#send").click()
    expect(alice.page.locator("#alert")).not_to_be_empty()
    expect(alice.box).to_be_focused()
    assert not alice.page.locator("#scroller").evaluate("thread => thread.matches(':focus')")
