"""How large the pages are, and how soon and how smoothly they can be used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_chat import FORMATTED
from tests.llm_server import LlmServer

pytestmark = [pytest.mark.browser, pytest.mark.long]

MOST_BYTES = 100_000
ROUNDS = 4
WORDS = "word " * 60
HEIGHT = "(one) => one.getBoundingClientRect().height"

AT_EASE = 0.4
"""The most of its main thread that a stream of 50 pieces a second may take of a page: less than .2 on a usual machine,
.35 on one whose two cores are shared and slow. A page that draws everything anew with each piece takes all of it."""


def transferred(page: Page, url: str) -> int:
    """Bytes that come over the wire for a page and all it needs but fonts, nothing of it known before."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Network.enable")
    cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: dict[str, float] = {}
    fonts: set[str] = set()
    cdp.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    cdp.on("Network.requestWillBeSent", lambda event: fonts.update([event["requestId"]] * (event["type"] == "Font")))
    page.goto(url, wait_until="networkidle")
    cdp.detach()
    assert len(sizes) > 4
    return int(sum(size for id, size in sizes.items() if id not in fonts))


def seconds_until_usable(page: Page, url: str) -> float:
    """From the click on a link until scripts have run and the box takes text; the best of some rounds."""
    found = []
    for _ in range(ROUNDS):
        page.goto(url)
        expect(page.locator("[name=content]")).to_be_enabled()
        found.append(page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    return float(min(found)) / 1000


def metric(cdp: CDPSession, name: str) -> float:
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == name))


@contextmanager
def share_of_main_thread(page: Page) -> Iterator[list[float]]:
    """The part of the time in which the page's main thread was busy: not that in which others had the processor."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun, busy = time.monotonic(), metric(cdp, "TaskDuration")
    share: list[float] = []
    yield share
    share.append((metric(cdp, "TaskDuration") - busy) / (time.monotonic() - begun))
    cdp.detach()


def test_pages_are_small_and_soon_usable(alice: Person) -> None:
    alice.imports(long_conversation(60, words=60))
    chat = alice.page.url
    for url in (alice.site.url, chat):
        assert transferred(alice.page, url) < MOST_BYTES, url
    assert seconds_until_usable(alice.page, chat) < 1


def test_a_thread_of_5000_messages_opens_at_once_and_its_past_comes_as_one_scrolls(alice: Person) -> None:
    alice.imports(long_conversation(5_000))
    assert seconds_until_usable(alice.page, alice.page.url) < 1
    expect(alice.page.locator("#thread .message")).to_have_count(60)
    first = alice.page.locator("#thread .message", has_text="Message 4940:")
    alice.page.locator("#scroller").evaluate("(scroller) => { scroller.scrollTop = 0 }")
    expect(alice.page.locator("#thread .message")).to_have_count(120)
    expect(first).to_be_in_viewport()


@pytest.mark.parametrize(
    "text",
    ["word " * 300, f"{FORMATTED}\n\n{'word ' * 60}\n\n" * 3 + "A paragraph that is "],
    ids=["plain", "formatted"],
)
def test_a_fast_stream_leaves_the_page_at_ease_and_its_end_moves_nothing(
    alice: Person, llm: LlmServer, text: str
) -> None:
    alice.imports(long_conversation(60))
    go_on = Event()
    llm.enqueue(f"{text}at its **end**", drip=0.02, holds={"**end": go_on})
    alice.says("Go on")
    expect(alice.replies.last).to_contain_text(text[3:12])
    shares = []
    for _ in range(2):
        with share_of_main_thread(alice.page) as share:
            time.sleep(2)
        shares += share
    assert min(shares) < AT_EASE
    alice.page.evaluate(
        """() => {
            window.moved = 0;
            new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) window.moved += entry.value;
            }).observe({ type: "layout-shift" });
        }"""
    )
    expect(alice.replies.last).to_contain_text("at its **end")
    height = alice.replies.last.evaluate(HEIGHT)
    go_on.set()
    alice.is_answered("at its end")
    assert alice.page.evaluate("window.moved") < 0.05
    assert abs(alice.replies.last.evaluate(HEIGHT) - height) < 2


def test_a_word_of_50_000_letters_is_laid_out_at_once(alice: Person) -> None:
    alice.page.evaluate("document.fonts.load('16px Inter')")
    milliseconds = alice.page.evaluate(
        """() => {
            const word = document.createElement("p");
            word.textContent = "W".repeat(50_000);
            word.style.overflowWrap = "anywhere";
            document.querySelector(".welcome").append(word);
            const begun = performance.now();
            word.getBoundingClientRect();
            return performance.now() - begun;
        }"""
    )
    assert milliseconds < 1_000, "kerning made it 5 s"
