"""No page, and no dialog, is wider than the screen that it is on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_accessibility import REPLY
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

WIDTHS = (390, 768, 1440)
ADDRESSES = [
    "",
    "settings/",
    "usage/",
    "search?q=service",
    "help/",
    "trash",
    "import",
    "models/connect?preset=ollama",
    "api/docs",
    "admin/",
    "admin/analytics/",
    "nowhere",
]
LISTS = ["admin/conversations/modelprofile/", "admin/conversations/user/", "admin/compression/compaction/"]
LONG = "x" * 300
SCROLLS = """() => {
    const parts = "html, body, .app, .main, .scroller, dialog[open], #reader, .reader > *";
    return [...document.querySelectorAll(parts)]
        .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
        .map((one) => `${one.tagName}.${one.className} ${one.scrollWidth} > ${one.clientWidth}`);
}"""


class Measured:
    """What is wider than its screen on the pages that it was shown."""

    def __init__(self, page: Page) -> None:
        self.page, self.wrong = page, list[str]()

    def __call__(self, name: str) -> None:
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            self.wrong += [f"{name} at {width}: {found}" for found in self.page.evaluate(SCROLLS)]


def test_nothing_is_wider_than_the_screen(at_site: Callable[..., Person], llm: LlmServer) -> None:
    alice = at_site()
    page, measure = alice.page, Measured(alice.page)
    page.goto(alice.site.url)
    measure("setup")
    alice.sets_up()
    measure("an empty site")
    alice.imports(long_conversation(40) | {"title": "A title without a blank " + LONG[:120]})
    page.locator("#compact").click()
    expect(page.locator(".compaction-divider")).to_be_visible()
    llm.enqueue(f"{REPLY}\n{LONG}\n\n`{LONG}`\n\n$${'x + ' * 90}x$$\n")
    alice.says("Show me " + LONG)
    alice.is_answered("5433")
    measure("a conversation")
    _measures_dialogs(page, measure)
    for address in ADDRESSES:
        page.goto(f"{alice.site.url}/{address}")
        measure(f"/{address}")
    for address in LISTS:
        page.goto(f"{alice.site.url}/{address}")
        measure(f"/{address}")
        page.set_viewport_size({"width": 390, "height": 900})
        narrow = page.locator("#changelist .results").bounding_box()
        assert narrow and narrow["width"] > 300, f"{address}: the table has {narrow} of a phone's screen"
        row = page.locator("#result_list tbody a").first.get_attribute("href")
        page.goto(f"{alice.site.url}{row}")
        measure(f"a row of {address}")
    page.context.clear_cookies(name="sessionid")
    page.goto(alice.site.url)
    measure("sign in")
    assert measure.wrong == []


def _measures_dialogs(page: Page, measure: Measured) -> None:
    here = page.url
    divider = ".compaction-divider"
    for place, name in ((".head", "Context"), (".head", "Timeline"), (divider, "View")):
        page.set_viewport_size({"width": 1440, "height": 900})
        if name == "Timeline":
            page.get_by_role("button", name="Menu").click()
        link = page.locator(place).get_by_role("link", name=name).first
        address = link.get_attribute("href")
        link.click()
        panel = page.locator("#dock" if name == "Context" else "#panel")
        expect(panel).to_be_visible()
        for tab in panel.get_by_role("tab").all():
            tab.click()
            measure(f"{name}, {tab.text_content()}")
        measure(f"{name}, as a panel")
        page.keyboard.press("Escape")
        page.goto(here.split("/c/")[0] + str(address))
        measure(f"{name}, as a page")
        page.goto(here)
