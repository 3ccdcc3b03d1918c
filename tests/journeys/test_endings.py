"""Replies that end before they are whole, and models that say nothing for long, as a person sees them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser
CUT = {"finish_reason": "length", "usage": {"prompt_tokens": 30, "completion_tokens": 4_096}}


def test_a_reply_that_was_cut_off_says_so_and_is_continued_until_it_is_whole(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("The story begins in", **CUT)
    alice.says("Tell me all of it")
    alice.is_answered("The story begins in")
    notice = alice.replies.last.locator(".ended")
    expect(notice).to_contain_text("Cut off at 4,096 tokens")
    llm.enqueue(" a small house, and goes", **CUT)
    notice.get_by_role("button", name="Continue").click()
    alice.is_answered("a small house")
    expect(alice.replies.last.locator(".ended")).to_contain_text("Cut off at 4,096 tokens")
    # What was continued says still that it was cut off, and offers nothing.
    expect(alice.page.get_by_role("button", name="Continue")).to_have_count(1)
    expect(alice.page.locator(".ended:visible")).to_have_count(2)
    llm.enqueue(" on.")
    alice.page.reload()
    alice.page.get_by_role("button", name="Continue").press("Enter")
    alice.is_answered("on.")
    expect(alice.page.locator("#thread .message")).to_have_count(6)
    expect(alice.page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(alice.page.locator("[data-asks-for-rest]")).to_have_count(2)
    assert alice.complaints == []


def test_an_older_failure_says_what_happened_and_advises_nothing_that_is_not_offered(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    llm.enqueue(status=409, times=3)
    alice.says("Hello?")
    failure = alice.page.locator("#thread .failure")
    expect(failure).to_contain_text("the provider reports a conflict (409, scripted_error). Try again.")
    offered = failure.get_by_role("button", name="Try again", exact=True)
    expect(offered).to_be_visible()
    alice.page.emulate_media(media="print")
    assert "again" not in failure.inner_text(), "paper has no button"
    alice.page.emulate_media(media="screen")
    llm.clear()
    llm.enqueue("one two three four", fault="half_stall")
    alice.says("Count, then")
    expect(alice.replies.last).to_contain_text("one two")
    alice.page.locator("#stop").click()
    ended = alice.page.locator("#thread .ended")
    expect(ended).to_contain_text("Stopped")
    llm.enqueue("Here I am.")
    alice.says("And now?")
    alice.is_answered("Here I am.")
    fact = "scripted: the provider reports a conflict (409, scripted_error)."
    for _ in ("as it came", "as it is read again"):
        assert failure.inner_text().strip() == f"{fact} What the model saw"
        assert ended.inner_text().strip() == "Stopped"
        expect(alice.page.get_by_role("button", name="Try again")).to_have_count(0)
        expect(alice.page.get_by_role("button", name="Continue")).to_have_count(0)
        alice.page.reload()
        expect(failure).to_be_visible()


def test_a_stopped_reply_is_continued(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("one two three four", fault="half_stall")
    alice.says("Count")
    expect(alice.replies.last).to_contain_text("one two")
    alice.page.locator("#stop").click()
    llm.enqueue("three four")
    alice.page.get_by_role("button", name="Continue").click()
    alice.is_answered("three four")
    assert alice.complaints == []


def test_a_silent_model_is_waited_for_with_a_clock_that_survives_a_reload(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("Here is what I thought.", delay=60)
    alice.says("Think about it")
    waits = alice.page.locator(".message[aria-busy] .waits")
    expect(waits).to_contain_text("Waiting for scripted")
    expect(waits.get_by_role("timer")).to_have_text("0:04")
    alice.page.reload()
    timer = waits.get_by_role("timer")
    expect(timer).to_be_visible()
    assert int(timer.inner_text().partition(":")[2]) >= 4
    is_live = "(box) => Boolean(box.closest('[aria-live], [role=status], [role=alert], [role=log]'))"
    assert not timer.evaluate(is_live), "nobody hears of every second"
    alice.page.locator("#stop").click()
    expect(alice.replies.last).to_have_attribute("data-status", "stopped")
    expect(waits).to_have_count(0)
    assert alice.complaints == []


def test_the_clock_goes_when_the_first_word_comes(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("one two three four five", delay=6, drip=0.5)
    alice.says("Think about it")
    timer = alice.page.get_by_role("timer")
    expect(timer).to_be_visible()
    expect(alice.replies.last).to_contain_text("one")
    expect(timer).to_be_hidden()
    alice.is_answered("five")
    expect(timer).to_have_count(0)
    assert alice.complaints == []
