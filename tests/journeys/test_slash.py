"""The menu behind a slash: commands, and prompts with blanks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.journeys.test_accessibility import Checked
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_a_saved_prompt_is_chosen_and_its_blanks_are_filled_in(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    page.goto(f"{alice.site.url}/settings/")
    page.locator(".new-prompt").get_by_label("Name").fill("Translate")
    page.locator(".new-prompt").get_by_label("Text").fill("Translate into {{language}}: {{text}}")
    page.get_by_role("button", name="Save the prompt").click()
    expect(page.get_by_text("“Translate” is saved.")).to_be_visible()
    alice.begins()
    alice.box.press_sequentially("/tr")
    menu = page.locator("#slash")
    expect(menu.get_by_role("option")).to_have_count(1)
    expect(menu.get_by_role("option")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(menu).to_be_hidden()
    expect(alice.box).to_have_value("Translate into {{language}}: {{text}}")
    page.keyboard.type("French")
    page.keyboard.press("Tab")
    page.keyboard.type("good morning")
    expect(alice.box).to_have_value("Translate into French: good morning")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    assert "Translate into French: good morning" in llm.chats[-1].text
    assert alice.complaints == []


def test_commands_are_chosen_with_keys_and_what_is_dismissed_stays_away(alice: Person) -> None:
    page = alice.page
    alice.begins()
    menu = page.locator("#slash")
    alice.box.press_sequentially("/")
    expect(menu.get_by_role("option", name="/compact")).to_be_visible()
    check = Checked(page)
    check("the menu behind a slash")
    assert check.wrong == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#find-words")).to_be_focused()
    expect(alice.box).to_have_value("")
    page.keyboard.press("Escape")
    alice.box.press_sequentially("/c")
    page.keyboard.press("Tab")
    expect(alice.box).to_have_value("/compact ")
    expect(menu).to_be_hidden()
    alice.box.fill("")
    alice.box.press_sequentially("/")
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    alice.box.press_sequentially("etc/hosts is the file")
    expect(menu).to_be_hidden()
    assert alice.complaints == []
