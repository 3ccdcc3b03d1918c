"""Versions of a message are flipped through and used again; and the keyboard does what its sheet says."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def saw_exactly(person: Person) -> None:
    """The last reply, a copy, shows its figures and the request that it answers."""
    expect(person.replies.last.locator(".acts")).to_contain_text(re.compile(r"[1-9]\d* in · [1-9]\d* out"))
    person.chooses(person.replies.last, "What the model saw", role="link")
    reader = person.page.get_by_role("dialog")
    expect(reader).to_contain_text("Exactly what was sent")
    expect(reader.locator(".parts:not(.gone) .part").last).to_contain_text("Which port?")
    person.page.keyboard.press("Escape")
    expect(reader).to_be_hidden()


def reads_anew(person: Person) -> None:
    """Have the page read its whole thread again, as after a compaction."""
    with person.page.expect_response("**/thread**"):
        person.page.evaluate("document.querySelector('#version').value = ''; htmx.trigger(document.body, 'converge')")


def test_earlier_versions_are_flipped_through_in_place_and_used_again(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    llm.enqueue("The **first** answer.")
    alice.says("Which port?")
    alice.is_answered("first answer")
    llm.enqueue("The second answer.")
    page.get_by_role("button", name="Regenerate").click()
    alice.is_answered("second answer")
    expect(page.locator(".versions")).to_contain_text("2 / 2")

    page.get_by_role("button", name="Earlier version").press("Enter")
    earlier = page.get_by_role("article", name="Version 1 of 2")
    expect(earlier).to_contain_text("not part of the conversation")
    expect(earlier.locator(".message[data-state=replaced] strong")).to_have_text("first")
    expect(page.get_by_role("button", name="Later version")).to_be_focused()
    expect(page.locator("#said")).to_have_text("Version 1 of 2, not part of the conversation.")
    earlier.get_by_role("button", name="Back to the current one").click()
    expect(alice.replies.last).to_contain_text("second answer")
    expect(page.get_by_role("button", name="Earlier version")).to_be_focused()

    llm.enqueue("The host is node-3.")
    alice.says("And the host?")
    alice.is_answered("node-3")
    page.get_by_role("button", name="Earlier version").click()
    earlier.get_by_role("button", name="Use this version").click()
    expect(earlier).to_contain_text("2 messages below stay in the present version")
    reads_anew(alice)
    expect(earlier).to_contain_text("2 messages below stay in the present version")
    earlier.get_by_role("button", name="Use this version all the same").click()
    expect(page.locator("#thread .message")).to_have_count(2)
    expect(alice.replies.last).to_contain_text("The first answer.")
    expect(page.locator(".versions")).to_contain_text("1 / 2")
    saw_exactly(alice)
    thread = page.url
    alice.chooses(alice.replies.last, "Fork")
    page.wait_for_url(lambda url: "/c/" in url and url != thread)
    expect(page.locator("#thread .message")).to_have_count(2)
    saw_exactly(alice)
    page.goto(thread)
    llm.enqueue("On 8443.")
    alice.says("Say it once more.")
    alice.is_answered("On 8443.")
    assert "second answer" not in llm.chats[-1].text and "first" in llm.chats[-1].text
    assert alice.complaints == []


def test_an_earlier_version_stays_while_the_thread_is_drawn_anew_until_another_version_is_used(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    llm.enqueue("The first answer.")
    alice.says("Which port?")
    alice.is_answered("first answer")
    llm.enqueue("The second answer.")
    alice.page.get_by_role("button", name="Regenerate").click()
    alice.is_answered("second answer")
    there = alice.page.context.new_page()
    there.goto(alice.page.url)
    here, elsewhere = (page.get_by_role("article", name="Version 1 of 2") for page in (alice.page, there))
    alice.page.get_by_role("button", name="Earlier version").click()
    expect(here).to_contain_text("The first answer.")
    reads_anew(alice)
    alice.chooses(there.locator("#thread .message[data-role=assistant]"), "Pin")
    expect(there.locator("#thread .message[data-role=assistant]")).to_have_attribute("data-state", "protected")
    there.get_by_role("button", name="Earlier version").click()
    expect(here).to_contain_text("The first answer.")
    elsewhere.get_by_role("button", name="Use this version").click()
    expect(here).to_have_count(0)
    expect(alice.page.locator("#thread .message[data-role=assistant]")).to_contain_text("The first answer.")
    expect(alice.page.locator(".versions")).to_contain_text("1 / 2")
    assert alice.complaints == []


def test_the_keyboard_does_what_its_sheet_says(alice: Person, llm: LlmServer) -> None:
    page, box = alice.page, alice.box
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    alice.begins()
    llm.enqueue("Use this:\n\n```bash\nkubectl drain node-3\n```")
    alice.says("How do I drain it?")
    alice.is_answered("drain node-3")
    box.press("?")
    expect(box).to_have_value("?")
    box.fill("")
    box.press("Control+Shift+;")
    expect(page.locator("#said")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "kubectl drain node-3"
    box.press("Control+Shift+C")
    expect(page.locator(".message.assistant > .acts .copy")).to_have_accessible_name("Copied")
    assert "Use this:" in page.evaluate("navigator.clipboard.readText()")
    box.press("Alt+PageUp")
    expect(page.locator(".message.assistant")).to_be_focused()
    page.keyboard.press("Alt+PageUp")
    expect(page.locator(".message.user")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Alt+PageUp")
    expect(page.locator("#search")).to_be_focused()
    box.press("ArrowUp")
    expect(page.get_by_role("textbox", name="Your message")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#scroller").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_visible()
    page.get_by_label("work outside of fields").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.locator("#scroller").focus()
    page.keyboard.press("/")
    expect(page.locator("#scroller")).to_be_focused()
    first = page.url
    page.keyboard.press("Control+K")
    page.wait_for_url(lambda url: "/c/" in url and url != first)
    expect(box).to_be_focused()
    box.press("Alt+ArrowDown")
    page.wait_for_url(first)
    llm.enqueue("word " * 400, drip=0.05)
    alice.says("Go on and on.")
    expect(page.locator("[data-status=streaming]")).to_contain_text("word")
    box.press("Escape")
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    assert alice.complaints == []


def test_an_edit_begun_before_newer_messages_came_asks_first(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("First.")
    alice.says("One?")
    alice.is_answered("First.")
    alice.page.get_by_role("button", name="Edit").first.click()
    alice.page.get_by_label("Your message").fill("One, please")
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    llm.enqueue("Second.")
    other.locator("[name=content]").last.fill("Two?")
    other.locator("#send").click()
    expect(alice.replies.last).to_contain_text("Second.")
    expect(alice.replies.last).to_have_attribute("data-status", "complete")
    alice.page.get_by_role("button", name="Save & ask again").click()
    asks = alice.page.locator("form.edit .complaint")
    expect(asks).to_contain_text("2 messages came since you began this edit and would stay in the present version too.")
    expect(alice.page.get_by_label("Your message")).to_have_value("One, please")
    llm.enqueue("Answered anew.")
    asks.get_by_role("button", name="Save all the same").click()
    alice.is_answered("Answered anew.")
    expect(alice.page.locator("#thread > .message")).to_have_count(2)
    assert [text for text in alice.complaints if "409" not in text] == []
