"""A statement that no message supports, as a person sees it beside its source."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

MADE_UP = (
    "## Summary\nThey spoke of service-0 on port 5000. Gwendolyn took port 9999 for it.\n\n"
    "## State\n- Done: service-1 listens on port 5001\n"
)


@pytest.mark.parametrize(("width", "height"), [(1280, 860), (390, 844)])
def test_a_statement_that_nobody_said_is_seen_and_told_to_the_model(
    alice: Person, llm: LlmServer, width: int, height: int
) -> None:
    page = alice.page
    page.set_viewport_size({"width": width, "height": height})
    alice.imports(long_conversation(30))
    llm.enqueue_summary(MADE_UP)
    page.locator("#compact").click()
    divider = page.locator(".compaction-divider")
    expect(divider).to_contain_text("messages compacted")
    divider.get_by_role("link", name="View").click()
    reader = page.get_by_role("dialog")
    statement = reader.locator(".summary p", has_text="Gwendolyn took port 9999 for it.")
    noted = statement.locator(".unfound")
    expect(noted).to_contain_text("not found in the messages: ")
    expect(noted).to_contain_text("9999")
    expect(noted).to_be_in_viewport()
    box = noted.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
    expect(reader.locator(".unfound")).to_have_count(1)
    expect(reader.locator("header .figures")).to_contain_text("1 not found in the messages")
    statement.get_by_role("link", name="Source 1", exact=True).click()
    expect(reader.locator("#source-1")).to_be_in_viewport()
    reader.get_by_role("button", name="Edit this summary").click()
    text = reader.get_by_role("textbox").input_value()
    assert "Gwendolyn took port 9999 for it." in text and "(not found" not in text
    reader.get_by_role("button", name="Cancel").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    reader.get_by_role("button", name="Close").click()
    llm.enqueue("It is 5000.")
    alice.says("Which port?")
    alice.is_answered("It is 5000.")
    assert "Gwendolyn took port 9999 for it (not found in the messages)." in llm.chats[-1].text
    assert alice.complaints == []
