"""What happens in other chats is seen beside the one that is open."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer
from tests.servers import wait_until

pytestmark = pytest.mark.browser


def test_a_reply_elsewhere_turns_then_is_a_dot_and_a_number_until_it_is_read(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    llm.enqueue("word " * 60, drip=0.1)
    alice.says("Tell me about the first thing")
    expect(alice.replies.last).to_contain_text("word word")
    alice.begins()
    entry = page.locator("#conversations .entry", has_text="the first thing")
    expect(entry.locator(".spinner")).to_be_visible()
    expect(entry.locator(".unread")).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    entry.get_by_role("link").click()
    page.wait_for_url("**/c/**")
    expect(page.locator("#conversations .entry", has_text="the first thing").locator(".unread")).to_have_count(0)
    expect(page).not_to_have_title(re.compile(r"^\("))
    assert alice.complaints == []


def test_a_chat_that_is_left_once_its_reply_is_there_has_no_dot(alice: Person) -> None:
    page = alice.page
    alice.begins()
    alice.says("Quickly read")
    alice.is_answered("All right.")
    alice.begins()
    entry = page.locator("#conversations .entry", has_text="Quickly read")
    with page.expect_response("**/activity"):
        expect(entry).to_be_visible()
    expect(entry.locator(".unread")).to_have_count(0)
    page.reload()
    expect(page.locator("#conversations .unread")).to_have_count(0)


def test_the_list_moves_as_things_happen_in_another_tab(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    for name in ("older", "newer"):
        alice.begins()
        alice.says(f"The {name} chat")
        alice.is_answered("All right.")
    first = page.locator("#conversations .entry").first
    expect(first).to_contain_text("newer")
    other = Person(page.context.new_page(), alice.site)
    other.page.goto(page.url)
    other.page.locator("#conversations .entry", has_text="older").get_by_role("link").click()
    other.page.wait_for_load_state("domcontentloaded")
    other.says("And more")
    other.is_answered("All right.")
    expect(first).to_contain_text("older")
    assert alice.complaints == []


def test_asking_for_news_shows_no_alert_and_takes_none_away(alice: Person) -> None:
    page, alert = alice.page, alice.page.locator("#alert")
    alice.begins()
    alice.says("Hello")
    alice.is_answered("All right.")
    page.context.set_offline(True)
    with page.expect_event("requestfailed", lambda request: "/activity" in request.url):
        pass
    expect(alert).to_be_empty()
    page.locator("#compact").click()
    expect(alert).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    with page.expect_response("**/activity"):
        pass
    page.wait_for_timeout(200)
    expect(alert).to_contain_text("cannot be reached")


def test_a_notification_comes_where_it_was_asked_for(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    page.context.grant_permissions(["notifications"], origin=alice.site.url)
    page.goto(f"{alice.site.url}/settings/")
    page.get_by_label("Notify me of a new reply").check()
    alice.begins()
    page.evaluate("""() => {
        window.notes = [];
        window.Notification = class {
            static permission = "granted";
            constructor(title, { body }) { notes.push([title, body]); }
            addEventListener() {}
        };
    }""")
    llm.enqueue("word " * 40, drip=0.1)
    alice.says("Write while I am away")
    expect(alice.replies.last).to_contain_text("word word")
    expect(page.locator("#conversations .spinner")).to_be_visible()
    page.evaluate("Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    wait_until(lambda: page.evaluate("notes.length") == 1, what="the notification", seconds=40)
    assert page.evaluate("notes[0]") == ["New reply", "Write while I am away"]


def test_a_page_on_which_nothing_happens_asks_ever_more_rarely(alice: Person) -> None:
    page = alice.page
    alice.begins()
    page.clock.install()
    page.reload()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/activity") else None)

    def pass_by(seconds: int) -> int:
        """Let so many seconds of the page's clock pass; returns how often it asked in them."""
        del asked[:]
        for _ in range(seconds):
            page.clock.run_for(1_000)
            page.wait_for_timeout(30)  # for answers, which take real time
        return len(asked)

    assert 4 <= pass_by(90) <= 8
    page.locator("h1").first.click()
    assert pass_by(10) >= 2
