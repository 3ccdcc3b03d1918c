"""Whatever a text holds, the page shows it and does nothing else: nothing runs, nothing is fetched, nothing moves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys import nasty
from tests.journeys.site import Person
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

INERT = Path(__file__).with_name("inert.js").read_text()


class Watch:
    """What a page asks for, and whether anything ran in it that no script of ours is."""

    def __init__(self, alice: Person) -> None:
        self.alice, self.asked = alice, list[str]()
        alice.page.add_init_script("window.pwned = () => { window.hacked = 'a script'; }")
        alice.page.on("request", lambda request: self.asked.append(request.url))

    def nothing_happened(self) -> None:
        page = self.alice.page
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 860})
            found = {name: value for name, value in page.evaluate(INERT).items() if value}
            assert found == {}
        assert [url for url in self.asked if not url.startswith((self.alice.site.url, "blob:"))] == []
        assert not any(url.endswith("/settings/") for url in self.asked)
        assert self.alice.complaints == []


def test_nasty_messages_names_tools_and_titles_are_shown_and_do_nothing(alice: Person) -> None:
    watch = Watch(alice)
    for conversation in nasty.conversations():
        alice.page.goto(alice.site.url)
        alice.imports(conversation)
        texts = len(conversation["messages"]) // 3
        expect(alice.page.locator("#thread .message")).to_have_count(2 * texts)
        for tool in alice.page.locator("details.tool").all()[:3]:
            tool.evaluate("(tool) => { tool.open = true; }")
        expect(alice.page.locator("h1")).to_have_text(
            nasty.NAME.replace("\u202e", "[U+202E]").replace("\u200b", "[U+200B]")
        )
        watch.nothing_happened()


def test_nasty_summaries_goals_rules_and_files_are_shown_and_do_nothing(alice: Person, llm: LlmServer) -> None:
    watch, page = Watch(alice), alice.page
    llm.enqueue_summary(nasty.SUMMARY)
    alice.imports(nasty.conversations(12)[0])
    page.locator("#compact").click()
    expect(page.locator(".compaction-divider")).to_be_visible()
    watch.nothing_happened()
    alice.edits_summary()
    page.locator("#summary-text").fill(nasty.SUMMARY)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#panel")).to_contain_text("edited by hand")
    watch.nothing_happened()
    page.keyboard.press("Escape")
    context_of(alice)
    page.get_by_label("The goal of this conversation").fill(nasty.MARKUP[4] + nasty.NAME)
    page.get_by_role("button", name="Set goal").click()
    context_of(alice, "Rules")
    page.get_by_label("A further rule").fill(f"Never {nasty.MARKUP[2]}")
    page.get_by_label("A further rule").press("Enter")
    expect(page.locator("#rules-section li[data-state=in_force]")).not_to_have_count(0)
    watch.nothing_happened()
    page.keyboard.press("Escape")
    file = {
        "name": "<img src=x onerror=pwned()>\u202etxt.md",
        "mimeType": "text/plain",
        "buffer": nasty.SUMMARY.replace("\x01", "").encode(),
    }
    page.locator("#composer input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    expect(page.locator("#attachments input[name=attachments]")).to_have_count(1)
    alice.says(nasty.MARKUP[0])
    expect(page.locator(".message.user").last).to_contain_text("<script>pwned()</script>")
    alice.is_answered("All right.")
    page.reload()
    watch.nothing_happened()
