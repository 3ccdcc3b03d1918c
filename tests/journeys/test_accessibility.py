"""Every page as axe-core judges it by WCAG 2.2 AA: wide in light colours, narrow in dark ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "resultTypes": ["violations"],
}
Look = tuple[Any, int, int]
LOOKS: list[Look] = [("light", 1280, 860), ("dark", 390, 844)]
EVERY_LOOK = bool(os.environ.get("EVERY_LOOK"))
"""Whether each page is judged in both looks, as `make torture` asks for; in `make test` they take turns."""
ADDRESSES = [
    "/settings/", "/usage/", "/memory/", "/search?q=service", "/models/connect?preset=ollama", "/trash", "/import",
    "/admin/", "/admin/analytics/", "/admin/site/", "/admin/compression/compaction/", "/nowhere", "/help/",
    "/c/{id}/timeline", "/c/{id}/next", "/admin/conversations/conversation/{id}/delete/",
]  # fmt: skip
"""Those of a conversation have its `id`."""
REPLY = """A table, code and a formula:

| port | host |
| ---: | --- |
| 5433 | node-7 |

```python
print("a line that is long enough to scroll on a phone, and then some more of it")  # and a comment
```

and $x^2$, a [link](https://example.org) and `code`.
"""


SETTLED = """
    Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished))
"""


class Checked:
    """What axe finds wrong on the pages that it was shown."""

    def __init__(self, page: Page, *, every_look: bool = True) -> None:
        self.page = page
        self.wrong: list[str] = []
        self._turns = cycle([LOOKS] if every_look else [[look] for look in LOOKS])

    def __call__(self, name: str, looks: Sequence[Look] = ()) -> None:
        looks = looks or next(self._turns)
        for scheme, width, height in looks:
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            self.page.evaluate(SETTLED)
            for found in Axe().run(self.page, options=RULES).response["violations"]:
                nodes = [f"{node['target']} {node['failureSummary']}" for node in found["nodes"]]
                self.wrong += [f"{name}, {scheme}: {found['id']} {node}" for node in nodes]
        self.page.set_viewport_size({"width": 1280, "height": 860})


def test_no_page_breaks_a_rule(at_site: Callable[..., Person], llm: LlmServer) -> None:
    alice = at_site()
    check = Checked(alice.page, every_look=EVERY_LOOK)
    alice.page.goto(alice.site.url)
    check("setup")
    alice.sets_up()
    check("an empty site")
    alice.imports(long_conversation(40))
    _converses(alice, llm)
    check("a conversation")
    _opens_what_there_is(alice, check)
    conversation = re.findall(r"/c/([\w-]{36})/", alice.page.url)[0]
    alice.page.goto(alice.site.url)
    check("home")
    for address in ADDRESSES:
        alice.page.goto(alice.site.url + address.format(id=conversation))
        check(address)
        assert alice.page.locator("h1").count() == 1, address
    _queues_and_deletes(alice, llm, check)
    alice.page.goto(alice.site.url + "/api/docs")
    check("docs of the API", LOOKS[:1])  # so long a page takes seconds
    alice.page.context.clear_cookies(name="sessionid")
    alice.page.goto(alice.site.url)
    check("sign in")
    assert check.wrong == []


def _queues_and_deletes(alice: Person, llm: LlmServer, check: Checked) -> None:
    alice.page.goto(alice.site.url)
    alice.begins()
    llm.enqueue("word " * 800, drip=0.05)
    alice.says("Go on for long")
    expect(alice.replies.last).to_contain_text("word word")
    alice.says("And then?")
    expect(alice.page.locator("#queue li")).to_have_count(1)
    check("a queue")
    alice.page.locator("#stop").click()
    alice.page.get_by_role("button", name="Menu").click()
    alice.page.locator("#conversation-menu").get_by_role("button", name="Delete").click()
    expect(alice.page.locator(".just-gone")).to_be_visible()
    check("a deleted chat")
    alice.page.goto(f"{alice.site.url}/trash")
    check("the trash")


def test_acts_that_take_two_rows_can_be_hit_and_move_nothing(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    llm.enqueue("It is **5433**.")
    alice.says("Which port?")
    alice.is_answered("It is 5433.")
    acts = alice.replies.first.locator(".acts")
    assert acts.evaluate("(row) => row.offsetHeight") == 26, "what a reply in the making keeps free"
    bubble = page.locator(".message.user").last
    asked, answered = bubble.bounding_box(), alice.replies.last.bounding_box()
    assert asked and answered and answered["y"] - asked["y"] - asked["height"] == 20
    llm.enqueue("one two three four", fault="half_stall")
    alice.says("Count")
    expect(alice.replies.last).to_contain_text("one two")
    page.locator("#stop").click()
    expect(page.locator(".ended")).to_be_visible()
    # As fonts do that are wider than those of this machine.
    wide = "(all) => all.forEach((row) => Object.assign(row.style, {letterSpacing: '2px', maxWidth: '300px'}))"
    page.locator(".acts").evaluate_all(wide)
    page.locator(".ended").evaluate("(mark) => { mark.style.maxWidth = '120px'; }")
    rows = "(row) => new Set([...row.children].map((one) => Math.round(one.getBoundingClientRect().y))).size"
    assert acts.evaluate(rows) >= 3
    low = "(row) => [...row.children].filter((one) => one.matches('a, button') && one.offsetHeight < 24).length"
    check = Checked(page)
    for look in LOOKS:
        page.set_viewport_size({"width": look[1], "height": look[2]})
        assert page.locator(".acts").evaluate_all(f"(all) => all.map({low})") == [0] * 4
        check("acts in rows", [look])
    assert check.wrong == []


def _converses(alice: Person, llm: LlmServer) -> None:
    """All that a thread can show: a fold with an open row, pinned and failed messages, Markdown, a draft."""
    alice.page.locator("#compact").click()
    expect(alice.page.locator(".compaction-divider")).to_be_visible()
    llm.enqueue(REPLY)
    alice.says("Show me")
    alice.is_answered("5433")
    alice.chooses(alice.replies.last, "Pin")
    expect(alice.page.locator("#thread > .message.assistant").last).to_have_attribute("data-state", "protected")
    llm.enqueue(status=401)
    alice.says("Again")
    expect(alice.page.locator(".failure")).to_be_visible()
    alice.page.locator(".row summary").first.click()
    expect(alice.page.locator(".opened .text")).to_be_visible()


def _opens_what_there_is(alice: Person, check: Checked) -> None:
    page = alice.page
    page.locator("#meter-button").click()
    check("what the model sees")
    page.keyboard.press("Escape")
    for tab in ("Instructions", "Model", "Memory", "Rules", "Advanced"):
        context_of(alice, tab)
        check(f"Context, {tab}")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Menu").click()
    page.locator(".head").get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check("Timeline")
    page.keyboard.press("Escape")
    page.locator("#meter-button").click()
    page.get_by_role("link", name="Open all").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check("the next request")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.locator("#scroller").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check("the keyboard's help")
    page.keyboard.press("Escape")
    page.locator(".compaction-divider").get_by_role("link", name="View").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check("a summary")
    page.get_by_role("button", name="Edit this summary").click()
    expect(page.locator("#summary-text")).to_be_visible()
    check("a summary that is edited")
    page.keyboard.press("Escape")
    asked = page.locator("#thread .message.assistant").filter(has_text=" in · ").first
    alice.chooses(asked, "What the model saw", role="link")
    expect(page.get_by_role("dialog")).to_be_visible()
    check("a request")
    page.keyboard.press("Escape")
