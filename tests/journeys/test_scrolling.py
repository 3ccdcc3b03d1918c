"""Only parts of the page scroll: a document that scrolls, too, would carry the list, the head and the composer away."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

SIZES = [{"width": 1280, "height": 500}, {"width": 390, "height": 664}]
BEYOND = """() => {
    const page = document.scrollingElement;
    if (page.scrollHeight <= page.clientHeight) return [];
    const ends = (part) => part.getBoundingClientRect().bottom > page.clientHeight;
    const named = (part) => `${part.tagName}#${part.id}.${part.className}`;
    const floats = (part) => getComputedStyle(part).position === "absolute";
    return [...document.querySelectorAll("body *")].filter((part) => floats(part) && ends(part)).map(named);
}"""


def scrolls(page: Page) -> list[str]:
    found: list[str] = page.evaluate(BEYOND)
    return found


@pytest.mark.parametrize("size", SIZES, ids=["desktop", "phone"])
def test_the_document_does_not_scroll(alice: Person, llm: LlmServer, size: dict[str, int]) -> None:
    page = alice.page
    page.set_viewport_size({"width": 1280, "height": 860})
    for _ in range(3):
        alice.imports(long_conversation(40))
    page.set_viewport_size(size)  # type: ignore[arg-type]
    here = page.url.partition("#")[0]
    llm.enqueue("So it is.", calls=[])
    alice.says("Is it?")
    alice.is_answered("So it is.")
    assert scrolls(page) == []
    for tab in ("Instructions", "Model", "Memory", "Rules", "Advanced"):
        context_of(alice, tab)
        assert scrolls(page) == [], tab
    for path in ("", "settings/", "usage/", "import", "trash", "search?q=service", "help/", "memory/"):
        answer = page.goto(f"{alice.site.url}/{path}")
        assert answer is not None and answer.ok, path
        expect(page.locator("main")).to_be_visible()
        assert scrolls(page) == [], path
    for path in ("next", "timeline"):
        page.goto(here + path)
        assert scrolls(page) == [], path
    assert alice.complaints == []
