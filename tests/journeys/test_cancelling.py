"""Progress that moves, and Cancel, as a person sees and uses them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def keep(page: Page, name: str) -> None:
    """Pictures for who looks at them: of `SHOTS`, a folder."""
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_progress_moves_as_the_summary_is_written_and_cancel_leaves_all_as_it_was(
    alice: Person, llm: LlmServer
) -> None:
    page = alice.page
    alice.imports(long_conversation(30))
    page.evaluate("document.querySelector('[name=content]').value = 'my next thought'")
    text = "## Summary\n" + " ".join(f"service-{n} listens on port {5000 + n}." for n in range(60)) + "\n\n## State\n-"
    llm.enqueue_summary(text, drip=0.1)
    page.locator("#compact").click()
    percent, elapsed = alice.status.locator(".percent"), alice.status.locator(".elapsed")
    expect(alice.status).to_contain_text("summarising")
    expect(alice.box).to_be_disabled()
    expect(percent).not_to_have_text("20 %")
    expect(elapsed).to_have_text("3 s")
    expect(alice.status.locator(".eta")).to_contain_text("left")
    seen = {percent.inner_text()}
    expect(percent).not_to_have_text(seen.pop())
    keep(page, "progress-desktop-light")
    cancel = alice.status.get_by_role("button", name="Cancel")
    cancel.focus()
    before = percent.inner_text()
    expect(percent).not_to_have_text(before)
    expect(cancel).to_be_focused()
    page.keyboard.press("Enter")
    expect(alice.status).to_contain_text("Cancelled: nothing has changed.")
    keep(page, "cancelled-desktop-light")
    llm.wait_for(lambda llm: llm.aborted > 0, seconds=5)
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("my next thought")
    expect(page.locator(".message[data-state=live]")).to_have_count(30)
    expect(page.locator(".compaction-divider")).to_have_count(0)
    assert alice.complaints == []


def test_a_phone_shows_all_of_it_and_stop_ends_the_compaction_and_the_reply(
    at_site: Callable[..., Person], llm: LlmServer
) -> None:
    alice = at_site(window=4_000)
    alice.sets_up()
    alice.imports(long_conversation(60, words=60))
    page = alice.page
    page.set_viewport_size({"width": 390, "height": 780})
    page.emulate_media(color_scheme="dark")
    llm.summary_takes(seconds=60)
    alice.says("Which port has service-1?")
    expect(alice.status).to_contain_text("summarising part 1 of")
    expect(alice.status.get_by_role("button", name="Cancel")).to_be_visible()
    expect(alice.status.locator(".elapsed")).to_have_text("2 s")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    keep(page, "progress-phone-dark")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".message[data-status=streaming]")).to_have_count(0)
    expect(alice.box).to_be_enabled()
    llm.wait_for(lambda llm: llm.aborted > 0, seconds=5)
    expect(page.locator(".compaction-divider")).to_have_count(0)
    page.goto(page.url.rstrip("/") + "/timeline")
    expect(page.locator(".event").first).to_contain_text("Cancelled")
    keep(page, "cancelled-timeline-phone-dark")


def test_one_that_is_prepared_in_the_background_is_cancelled_in_the_timeline(
    at_site: Callable[..., Person], llm: LlmServer
) -> None:
    alice = at_site(window=8_000)
    alice.sets_up()
    alice.imports(long_conversation(32, words=60))
    page = alice.page
    llm.summary_takes(seconds=60)
    alice.says("Which port has service-1?")
    alice.is_answered("All right.")
    llm.wait_for(lambda llm: bool(llm.summaries))
    page.get_by_role("button", name="Menu").click()
    page.locator(".head").get_by_role("link", name="Timeline").click()
    entry = page.get_by_role("dialog").locator(".event").first
    expect(entry).to_contain_text("prepared ahead")
    entry.get_by_role("button", name="Cancel").click()
    expect(entry).to_contain_text("Cancelled")
    expect(entry.get_by_role("button", name="Cancel")).to_have_count(0)
    keep(page, "timeline-desktop-light")
