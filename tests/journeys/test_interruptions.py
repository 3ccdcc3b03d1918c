"""Reloads, the back button, two tabs, a lost network, a session that ended: nothing is lost, and nothing doubled."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.journeys.site import PASSWORD, Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def messages(page: Page, count: int) -> None:
    expect(page.locator("#thread .message")).to_have_count(count)


def test_a_page_reloaded_while_a_reply_streams_or_a_fold_runs_goes_on(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    llm.enqueue("one " + "and more " * 14 + "the end", drip=0.1)
    alice.says("Write something long")
    expect(alice.replies.last).to_contain_text("one and")
    alice.box.fill("half a thought")
    alice.page.reload()
    expect(alice.replies.last).to_contain_text("one and")
    alice.is_answered("one and more")
    assert alice.replies.last.inner_text().count("the end") == 1
    messages(alice.page, 32)
    llm.summary_takes(seconds=5)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    alice.page.reload()
    expect(alice.status).to_contain_text("Compressing context")
    expect(alice.box).to_be_disabled()
    expect(alice.page.locator(".compaction-divider")).to_have_count(1)
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("half a thought")
    assert alice.complaints == []


def test_what_is_too_large_for_the_socket_is_asked_for_at_once(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("First.")
    alice.says("One?")
    alice.is_answered("First.")
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    messages(other, 2)
    other.route("**/messages/*", lambda route: route.abort())  # the page does not ask for the reply by the clock
    llm.enqueue("a long word " * 9_000 + "the end", piece=20_000)
    with other.expect_response(lambda answer: "/thread?version=" in answer.url and answer.status == 200):
        alice.says("Two?")
    expect(other.locator("#thread .message").last).to_have_attribute("data-status", "complete")
    expect(other.locator("#thread .message").last).to_contain_text("the end")
    messages(other, 4)
    assert alice.complaints == []


def test_the_back_button_shows_what_came_meanwhile(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("First.")
    alice.says("One?")
    alice.is_answered("First.")
    alice.box.fill("half a thought")
    first = alice.page.url
    alice.page.goto(alice.site.url)
    other = alice.page.context.new_page()
    other.goto(first)
    llm.enqueue("Second.")
    other.locator("[name=content]").fill("Two?")
    other.locator("#send").click()
    expect(other.locator("#thread")).to_contain_text("Second.")
    alice.page.go_back()
    expect(alice.page.locator("#thread")).to_contain_text("Second.")
    messages(alice.page, 4)
    llm.enqueue("Third.")
    alice.says("Three?")
    alice.is_answered("Third.")
    messages(alice.page, 6)
    messages(other, 6)
    assert alice.complaints == []


def test_what_two_tabs_say_at_once_is_answered_in_turn_and_nothing_is_left(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("one two three four five", drip=0.4)
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    boxes = [page.locator("[name=content]") for page in (alice.page, other)]
    for number, box in enumerate(boxes):
        box.fill(f"From tab {number}")
    for box in boxes:
        box.press("Enter", no_wait_after=True)
    for page, box in zip((alice.page, other), boxes, strict=True):
        messages(page, 4)
        expect(page.locator("#queue li")).to_have_count(0)
        expect(page.locator(".message.assistant[data-status=complete]")).to_have_count(2)
        expect(box).to_have_value("")
        page.reload()
        expect(box).to_have_value("")
    said = alice.page.locator(".message.user").all_inner_texts()
    assert sorted(text.split("\n")[0] for text in said) == ["From tab 0", "From tab 1"]
    assert len(llm.chats) == 2


def test_a_message_outlives_a_lost_network_and_a_lost_session(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    alice.page.context.set_offline(True)
    alice.says("One?")
    expect(alice.page.locator("#alert")).to_contain_text("The server cannot be reached")
    expect(alice.box).to_have_value("One?")
    alice.page.context.set_offline(False)
    llm.enqueue("First.")
    alice.box.press("Enter")
    alice.is_answered("First.")
    messages(alice.page, 2)
    alice.page.context.clear_cookies(name="sessionid")
    alice.says("Two?")
    alice.page.get_by_label("Username").fill(alice.name)
    alice.page.get_by_label("Password").fill(PASSWORD)
    alice.page.get_by_role("button", name="Sign in").click()
    expect(alice.box).to_have_value("Two?")
    messages(alice.page, 2)
    llm.enqueue("Second.")
    alice.box.press("Enter")
    alice.is_answered("Second.")
    messages(alice.page, 4)


def test_a_page_that_lost_its_socket_asks_for_what_compact_frees(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    alice.page.route_web_socket("**/ws/**", lambda socket: socket.close(code=1012))
    alice.page.reload()
    expect(alice.page.locator("#frees")).to_contain_text("frees about")
    alice.page.evaluate("() => { document.querySelector('#frees').textContent = '' }")
    with alice.page.expect_request("**/meter", timeout=40_000):
        llm.enqueue("Written for another tab.")
        other.locator("[name=content]").fill("Anything new?")
        other.locator("#send").click()
        expect(other.locator("#thread")).to_contain_text("Written for another tab.")
    expect(alice.page.locator("#thread")).to_contain_text("Written for another tab.")
    expect(alice.page.locator("#frees")).to_contain_text("frees about")


def test_an_answer_for_a_part_that_was_replaced_meanwhile_is_dropped(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    held: list[Route] = []
    alice.page.route("**/meter", lambda route: held.append(route))
    with alice.page.expect_request("**/meter"):
        alice.page.locator("#frees").evaluate(
            """(old) => {
                const asks = `hx-get="${location.pathname}meter" hx-trigger="intersect" hx-swap="none"`;
                old.outerHTML = `<small id="frees" ${asks}>older</small>`;
                htmx.process(document.querySelector("#frees"));
            }"""
        )
    alice.page.locator("#frees").evaluate("(old) => { old.outerHTML = '<small id=frees>newer</small>' }")
    with alice.page.expect_response("**/meter"):
        held[0].continue_()
    alice.page.wait_for_timeout(300)
    expect(alice.page.locator("#frees")).to_have_text("newer")
    assert alice.complaints == []
