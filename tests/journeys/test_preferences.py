"""How a person has the pages, which model answers, and whether it does: in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.conftest import page_of
from tests.journeys.site import PASSWORD, Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

DARK, LIGHT = "rgb(23, 23, 26)", "rgb(251, 250, 248)"


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_a_theme_holds_at_once_after_signing_out_and_in_another_browser(alice: Person, chromium: Browser) -> None:
    page = alice.page
    assert background(page) == LIGHT
    alice.opens("Settings")
    page.get_by_role("radio", name="Dark").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert background(page) == DARK
    expect(page.locator("#theme-toggle")).to_have_attribute("aria-label", "Theme: dark. Change to the system's")
    alice.opens("Sign out", role="button")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert background(page) == DARK

    with page_of(chromium) as other:
        other.goto(alice.site.url)
        assert background(other) == LIGHT
        other.get_by_label("Username").fill(alice.name)
        other.get_by_label("Password").fill(PASSWORD)
        other.get_by_role("button", name="Sign in").click()
        expect(other.get_by_role("button", name="New chat").first).to_be_visible()
        assert background(other) == DARK
        other.wait_for_load_state()
        other.locator("#side .me").click()
        toggle = other.locator("#theme-toggle")
        toggle.focus()
        other.keyboard.press("Enter")
        expect(toggle).to_have_accessible_name("Theme: as the system has it. Change to light")
        expect(toggle).to_be_focused()
        assert background(other) == LIGHT
    assert alice.complaints == []


def test_ctrl_and_enter_sends_for_whom_enter_begins_a_line(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.opens("Settings")
    page.get_by_role("radio", name="Ctrl + Enter sends").check()
    expect(page.locator("#typing-section")).to_contain_text("Saved.")
    prompt = page.get_by_role("textbox", name="Instructions")
    prompt.fill("You are the librarian of node-7.")
    expect(page.locator("#system-prompt-cost")).to_contain_text("9 tokens in every request")
    page.get_by_label("Style", exact=True).select_option("planning")
    page.locator("#beginning-save").click()
    expect(page.locator("#beginning-section")).to_contain_text("Saved.")
    alice.begins()
    expect(page.locator("#pills")).to_contain_text("Planning mode")
    alice.box.fill("One line")
    alice.box.press("Enter")
    alice.box.press_sequentially("and another")
    expect(alice.box).to_have_value("One line\nand another")
    llm.enqueue("Understood.")
    alice.box.press("Control+Enter")
    alice.is_answered("Understood.")
    asked = llm.chats[-1].text
    assert "One line\nand another" in asked and "You are the librarian of node-7." in asked
    assert alice.complaints == []


def test_a_model_is_added_and_tested_then_chosen_and_answers_with_the_prompt_that_was_set(
    alice: Person, llm: LlmServer
) -> None:
    page, name = alice.page, f"{alice.name}-2"
    alice.opens("Admin")
    page.get_by_role("navigation", name="Administration").get_by_role("link", name="Models").click()
    page.get_by_role("link", name="Add model profile").click()
    page.get_by_label("Name:").fill(name)
    page.get_by_label("Provider:").select_option("anthropic")
    page.get_by_label("Base URL:").fill(llm.url)
    page.get_by_label("Model id:").fill("claude-opus-4-5")
    page.get_by_label("Context window:").fill("120000")
    llm.enqueue("Hello, hello!")
    page.get_by_role("button", name="Save and test the connection").first.click()
    expect(page.locator(".messagelist")).to_contain_text(f"{name} answered in")
    expect(page.locator(".messagelist")).to_contain_text("“Hello, hello!”")
    expect(page.locator("#offered-models option")).to_have_count(1)

    page.goto(alice.site.url)
    alice.begins()
    meter = page.locator("#context-meter")
    expect(meter).to_have_attribute("data-window", "6800")
    page.get_by_role("button", name="scripted").click()
    switcher = page.get_by_role("dialog", name="Model")
    expect(switcher.get_by_label("Find a model")).to_be_focused()
    switcher.get_by_role("button", name=re.compile(f"^{name} .*120k")).click()
    expect(switcher).to_be_hidden()
    page.get_by_role("link", name="Context", exact=True).click()
    panel = page.get_by_role("complementary", name="Context")
    expect(panel.locator("#model-section")).to_contain_text("Its window is 120,000 tokens")
    panel.get_by_role("tab", name="Instructions").click()
    panel.get_by_role("textbox", name="Instructions").fill("Always greet in Latin.")
    expect(panel.locator("#system_prompt-section")).to_contain_text("Saved: the next request has it.")
    expect(meter).to_have_attribute("data-window", "120000")
    page.keyboard.press("Escape")
    expect(page.locator("#switch")).to_contain_text(name)
    llm.enqueue("Salve!")
    alice.says("Good morning")
    alice.is_answered("Salve!")
    assert llm.chats[-1].path == "/v1/messages" and "Always greet in Latin." in llm.chats[-1].text
    assert alice.complaints == []
