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


def test_files_of_the_first_message_open_a_chat_that_has_them_and_says_which_was_refused(
    alice: Person, llm: LlmServer
) -> None:
    box = alice.page.get_by_label("Message", exact=True)
    alice.page.get_by_label("Effort").select_option("high")
    box.fill("Which port?")
    notes = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"The port is 5433."}
    program = {"name": "a.bin", "mimeType": "application/octet-stream", "buffer": bytes(range(256))}
    alice.page.set_input_files("#first-files", [notes, program])  # type: ignore[list-item]
    alice.page.wait_for_url("**/c/**")
    expect(alice.box).to_have_value("Which port?")
    expect(alice.page.locator("#attachments")).to_contain_text("notes.md")
    expect(alice.page.locator("#alert")).to_contain_text("a.bin This kind of file can't be read.")
    llm.enqueue("It is 5433.")
    alice.page.get_by_role("button", name="Send").click()
    alice.is_answered("It is 5433.")
    assert "The port is 5433." in str(llm.requests[-1]["messages"])
    assert llm.requests[-1]["reasoning_effort"] == "high"
    alice.page.goto(alice.site.url)
    expect(box).to_have_value("")
    with alice.page.expect_file_chooser():
        alice.page.get_by_role("button", name="Read a document").click()
    expect(box).to_have_value("Summarise this document. Keep every number, date and name.")


def test_on_a_phone_the_box_is_under_the_thumb_and_the_list_is_a_drawer(alice: Person, llm: LlmServer) -> None:
    for _ in range(6):  # more than a screen holds
        alice.imports(long_conversation(4))
    alice.page.set_viewport_size({"width": 390, "height": 664})
    alice.page.goto(alice.site.url)
    place = alice.page.locator("#begin").bounding_box()
    assert place is not None and 644 <= place["y"] + place["height"] <= 664
    expect(alice.page.get_by_label("Message", exact=True)).to_be_in_viewport()
    expect(alice.page.locator("#side")).to_be_hidden()
    alice.page.get_by_role("button", name="Conversations", exact=True).click()
    expect(alice.page.locator("#conversations").get_by_role("link", name="A long talk").first).to_be_in_viewport()


def test_the_list_folds_away_and_stays_so_on_other_pages(alice: Person, llm: LlmServer) -> None:
    page, side = alice.page, alice.page.locator("#side")
    page.locator("#fold").click()
    expect(side).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_focused()
    page.reload()
    expect(side).to_be_hidden()
    page.keyboard.press("Tab")  # leave the box, which takes the key as a letter
    page.keyboard.press("/")
    expect(page.get_by_label("Search every message")).to_be_focused()
    page.locator("#fold").click()
    llm.enqueue("So it is.")
    page.get_by_label("Message", exact=True).fill("Is it?")
    page.keyboard.press("Enter")
    alice.is_answered("So it is.")
    expect(side).to_be_hidden()
    page.goto(f"{alice.site.url}/settings/")
    expect(side).to_be_visible()  # its page has no button that brings the list back
    page.goto(alice.site.url)
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(side).to_be_visible()
    page.reload()
    expect(side).to_be_visible()
    assert alice.complaints == []


def test_what_is_behind_the_name_is_reached_by_the_keyboard(alice: Person) -> None:
    page, menu = alice.page, alice.page.locator("#me")
    name = page.locator("#side .me")
    expect(name).to_have_accessible_name(alice.name)
    name.press("Enter")
    expect(menu.get_by_role("link")).to_have_text(["Settings", "Usage", "Keyboard shortcuts ?", "Admin"])
    menu.get_by_role("link", name="Keyboard shortcuts").press("Enter")
    expect(page.locator("#panel").get_by_role("heading", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(name).to_be_focused()
    assert alice.complaints == []
