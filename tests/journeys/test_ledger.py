"""The ledger in a real browser: what is noted becomes a rule with one press, on a desktop and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.journeys.site import Person
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
IN_FORCE, NOTED = "li[data-state=in_force]", "li[data-state=noted]"

BEYOND_THE_EDGE = """() => [...document.querySelectorAll("#rules-section *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 80))"""


def rules_of(alice: Person) -> Locator:
    rules = context_of(alice, "Rules").locator("#rules-section")
    expect(rules).to_be_visible()
    return rules


def is_not_cut_off(alice: Person) -> None:
    width = (alice.page.viewport_size or DESKTOP)["width"]
    assert alice.page.evaluate("document.documentElement.scrollWidth") <= width
    assert alice.page.evaluate(BEYOND_THE_EDGE) == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_noted_preference_is_made_a_rule_with_one_press(alice: Person, llm: LlmServer, size: ViewportSize) -> None:
    alice.page.set_viewport_size(size)
    alice.begins()
    llm.enqueue("Noted.")
    alice.says("Always back up your data. I prefer tables over lists. Which port?")
    alice.is_answered("Noted.")
    rules = rules_of(alice)
    expect(rules.locator(IN_FORCE)).to_have_count(0)
    expect(rules.locator(NOTED)).to_have_count(2)
    is_not_cut_off(alice)
    button = rules.get_by_role("button", name="Make it a rule: I prefer tables over lists.")
    box = button.bounding_box()
    assert box and box["height"] >= 24, "a finger hits it"
    button.click()
    expect(rules.locator(IN_FORCE).get_by_role("textbox")).to_have_value("I prefer tables over lists.")
    expect(rules.locator(NOTED)).to_have_count(1)
    expect(rules.get_by_role("status")).to_contain_text("It is a rule now")
    is_not_cut_off(alice)
    alice.page.keyboard.press("Escape")
    llm.enqueue("As a table.")
    alice.says("And now?")
    alice.is_answered("As a table.")
    system = llm.chats[-1].messages[0]["content"]
    assert "- I prefer tables over lists." in system and "- Always back up" not in system
    assert alice.complaints == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_rule_of_an_imported_file_is_noted_until_its_person_presses(
    alice: Person, llm: LlmServer, size: ViewportSize
) -> None:
    alice.page.set_viewport_size(size)
    file = {
        "format": "chatsite",
        "version": 4,
        "conversation": {"title": "Ports", "rules": ["Never use port 8080."]},
        "messages": [{"role": "user", "content": "Which port?"}, {"role": "assistant", "content": "Port 5433."}],
    }
    alice.imports(file)
    llm.enqueue("Port 9001.")
    alice.says("And now?")
    alice.is_answered("Port 9001.")
    assert "8080" not in llm.chats[-1].text
    rules = rules_of(alice)
    expect(rules.locator(IN_FORCE)).to_have_count(0)
    rules.get_by_role("button", name="Make it a rule: Never use port 8080.").click()
    expect(rules.locator(IN_FORCE)).to_have_count(1)
    alice.page.keyboard.press("Escape")
    llm.enqueue("Still 5433.")
    alice.says("And then?")
    alice.is_answered("Still 5433.")
    assert "- Never use port 8080." in llm.chats[-1].messages[0]["content"]
    assert alice.complaints == []


def test_the_page_of_all_chats_finds_puts_in_force_and_forgets(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    alice.says("I prefer tables over lists. Which port?")
    alice.is_answered("All right.")
    rules_of(alice).get_by_role("link", name="Rules and notes of all chats").click()
    expect(page.get_by_role("heading", name="Memory")).to_be_visible()
    page.get_by_role("link", name="Noted 1").click()
    entry = page.locator(".remembered")
    expect(entry).to_contain_text("I prefer tables over lists.")
    entry.get_by_role("button", name="Make it a rule").click()
    expect(entry).to_contain_text("In force now")
    page.get_by_role("searchbox", name="Search in memory").fill("tables")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="In force 1").click()
    entry.get_by_text("Edit", exact=True).click()
    entry.get_by_role("textbox", name="Rule").fill("I prefer short tables over lists.")
    entry.get_by_role("button", name="Save").click()
    expect(entry).to_contain_text("I prefer short tables over lists.")
    expect(entry).to_contain_text("In force now")
    entry.get_by_role("button", name="Forget").click()
    expect(entry).to_contain_text("Dismissed now")
    page.get_by_role("searchbox", name="Search in memory").fill("")
    page.keyboard.press("Enter")
    page.locator(".choice a").last.click()
    entry.filter(has_text="I prefer tables over lists.").get_by_role("link").click()
    expect(page.locator(".message.user")).to_contain_text("I prefer tables over lists.")
    assert alice.complaints == []
