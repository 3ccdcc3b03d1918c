"""Finding words and dates in the chat that is open."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_accessibility import Checked
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_words_are_found_from_message_to_message_compacted_ones_too(alice: Person) -> None:
    page = alice.page
    alice.imports(long_conversation(60))
    page.locator("#compact").click()
    expect(page.locator(".compaction-divider")).to_be_visible()
    page.keyboard.press("Control+Shift+F")
    field, count = page.locator("#find-words"), page.locator("#find-count")
    expect(field).to_be_focused()
    field.fill("service-5")
    expect(count).to_have_text("11")
    page.keyboard.press("Enter")
    expect(count).to_have_text("11 of 11")
    expect(page.locator("#panel")).to_be_hidden()
    assert page.evaluate("CSS.highlights.get('found').size") == 1
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("1 of 11")
    panel = page.locator("#panel")
    expect(panel.locator("[data-here]")).to_contain_text("service-5 listens")
    expect(field).to_be_focused()
    panel.get_by_role("button", name="Next").click()
    expect(panel.locator("[data-here]")).to_contain_text("service-50 listens")
    panel.get_by_role("button", name="Previous").click()
    panel.get_by_role("button", name="Previous").click()
    expect(panel).to_be_hidden()
    expect(page.locator("#finder")).to_be_visible()
    check = Checked(page)
    check("find in this chat")
    assert check.wrong == []
    field.fill("nowhere at all")
    expect(count).to_have_text("Not found")
    page.keyboard.press("Escape")
    expect(page.locator("#finder")).to_be_hidden()
    assert page.evaluate("CSS.highlights.has('found')") is False
    assert alice.complaints == []


def test_a_word_in_a_part_that_is_folded_away_is_shown(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    llm.enqueue(
        "Here.\n\n<details>\n<summary>Log</summary>\n\nThe harbour froze.\n\n</details>\n\n<details>\nquay\n</details>"
    )
    alice.says("What happened?")
    alice.is_answered("Here.")
    parts = page.locator(".message .prose details")
    expect(parts).to_have_count(2)
    expect(parts.first.get_by_text("The harbour froze.")).to_be_hidden()
    page.keyboard.press("Control+Shift+F")
    page.locator("#find-words").fill("harbour")
    expect(page.locator("#find-count")).to_have_text("1")
    page.keyboard.press("Enter")
    expect(parts.first.get_by_text("The harbour froze.")).to_be_visible()
    expect(parts.last).not_to_have_attribute("open", "")
    assert alice.complaints == []


def test_a_line_between_days_leads_to_any_date(alice: Person) -> None:
    page = alice.page
    alice.imports(long_conversation(200))
    page.locator(".day button").last.click()
    expect(page.locator("#find-date")).to_be_focused()
    page.locator("#find-date").fill("2026-01-02")
    there = page.locator("[data-here], .flash").first
    expect(there).to_contain_text("service-60 listens")
    assert alice.complaints == []


def test_on_a_phone_the_bar_fits(alice: Person) -> None:
    page = alice.page
    alice.imports(long_conversation(10))
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#side")).to_be_hidden()
    page.locator("#find-open").click()
    page.locator("#find-words").fill("service")
    expect(page.locator("#find-count")).to_have_text("10")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for button in page.locator("#finder button").all():
        box = button.bounding_box()
        assert box and box["width"] >= 36 and box["height"] >= 36
