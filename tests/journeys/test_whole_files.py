"""A person asks about the whole of a file."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_the_whole_of_a_file_is_read_stopped_and_gone_on_with(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    book = "\n".join(f"[Page {n}]\nPort {7000 + n}. " + "filler " * 60 for n in range(120))
    page.locator("#files").set_input_files([{"name": "book.txt", "mimeType": "text/plain", "buffer": book.encode()}])
    expect(page.locator(".chip:not(.uploading)", has_text="book.txt")).to_be_visible()
    alice.says("Here is a book.")
    alice.is_answered("All right.", seconds=30)
    page.locator("#content").press_sequentially("/rea")
    expect(page.get_by_role("option", name="/read")).to_be_visible()
    page.keyboard.press("Enter")
    dialog = page.locator("#reading-section")
    expect(dialog).to_contain_text("book.txt")
    expect(dialog).to_contain_text("requests to scripted with about")
    llm.enqueue("Port 7001.", delay=0.4, times=2)
    dialog.locator("textarea").fill("Which ports are named?")
    dialog.get_by_role("button", name="Read it").click()
    expect(dialog.get_by_role("status")).to_contain_text("parts read…")
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_role("status")).to_contain_text("Stopped after")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog.get_by_role("status")).to_contain_text("The answer is in the chat", timeout=30_000)
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator("#thread")).to_contain_text("Notes on the whole of book.txt.md")
    assert alice.complaints == []
