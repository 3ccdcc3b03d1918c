"""The fold, as a person sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Route, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer
from tests.servers import wait_until

pytestmark = pytest.mark.browser


def test_compact_folds_the_past_and_undo_unfolds_it(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(30)
    alice.page.locator("#compact").click()
    divider = alice.page.locator(".compaction-divider")
    expect(divider).to_contain_text("messages compacted")
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(4)

    row = alice.page.locator(".message[data-state=compressed]").first
    row.locator("summary").click()
    expect(row.locator(".text")).to_contain_text("service-0 listens on port 5000")
    alice.page.get_by_role("button", name="messages, all still here").click()
    expect(alice.page.locator(".message[data-state=compressed]")).to_have_count(26)

    divider.get_by_role("link", name="View").click()
    reader = alice.page.get_by_role("dialog")
    expect(reader).to_contain_text("Written from")
    expect(reader).to_contain_text("service-25 listens on port 5025")
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_be_hidden()

    divider.get_by_role("button", name="Undo").click()
    expect(divider).to_have_count(0)
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(30)
    assert alice.complaints == []


def test_the_box_is_disabled_while_it_compresses_by_itself_and_keeps_the_draft(
    at_site: Callable[..., Person], llm: LlmServer
) -> None:
    alice = at_site(window=4_000)
    alice.sets_up()
    alice.imports(long_conversation(60, words=60))
    llm.summary_takes(seconds=1)
    llm.enqueue("Port 5001 it is.", delay=0.2)
    alice.says("Which port has service-1?")
    alice.page.evaluate("document.querySelector('[name=content]').value = 'my next thought'")
    expect(alice.status).to_contain_text("Compressing context…")
    expect(alice.box).to_be_disabled()
    expect(alice.page.locator("#send")).to_be_disabled()
    expect(alice.page.locator("#compact")).to_be_disabled()
    expect(alice.status).to_contain_text("summarising")
    expect(alice.page.locator(".compaction-divider").first).to_be_visible()
    alice.is_answered("Port 5001 it is.")
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("my next thought")
    assert alice.complaints == []


def test_a_compression_that_finds_nothing_says_so_and_gives_the_box_back(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("Hello.")
    alice.says("Hello")
    alice.is_answered("Hello.")
    alice.says("/compact keep the ports")
    expect(alice.status).to_contain_text("Nothing was compacted.")
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("")
    alice.status.get_by_role("button", name="Dismiss").click()
    expect(alice.status).to_be_empty()


def test_a_server_that_dies_while_it_compresses_goes_on_when_it_is_back_and_the_draft_is_there(
    alice: Person, llm: LlmServer
) -> None:
    alice.imports(long_conversation(30))
    alice.box.fill("a thought")
    llm.summary_takes(seconds=60)
    alice.page.locator("#compact").click()
    expect(alice.box).to_be_disabled()
    expect(alice.status).to_contain_text("summarising")
    alice.site.crash()
    llm.summary_takes(seconds=0)
    alice.site.start()
    expect(alice.page.locator(".compaction-divider")).to_contain_text("messages compacted", timeout=30_000)
    expect(alice.box).to_be_enabled()
    expect(alice.box).to_have_value("a thought")
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(4)


def test_a_page_that_was_cut_off_catches_up(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("First.")
    alice.says("One")
    alice.is_answered("First.")
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    alice.page.context.set_offline(True)
    alice.site.stop()
    alice.page.context.set_offline(False)
    alice.site.start()
    llm.enqueue("Second.")
    other.reload()
    other.locator("[name=content]").fill("Two")
    other.locator("#send").click()
    expect(other.locator("#thread")).to_contain_text("Second.")
    expect(alice.page.locator("#thread")).to_contain_text("Second.", timeout=30_000)
    expect(alice.page.locator("#thread .message")).to_have_count(4)


def test_two_pages_of_one_conversation_show_the_same(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    llm.enqueue("A reply for both.", drip=0.05)
    alice.says("For both pages")
    for page in (alice.page, other):
        expect(page.locator("#thread .message[data-role=assistant]")).to_have_attribute("data-status", "complete")
        expect(page.locator("#thread .message")).to_have_count(2)
        expect(page.locator("#thread")).to_contain_text(re.compile("A reply for both\\."))


def searches(count: int) -> dict[str, Any]:
    """A conversation whose protected replies called a tool each, with a long result."""
    messages: list[dict[str, Any]] = []
    for number in range(count):
        at = f"2026-01-01T10:{number:02}"
        call = {"id": f"c{number}", "type": "function", "function": {"name": "search", "arguments": "{}"}}
        result = f"Result {number} found port {9000 + number}. " + f"found{number} " * 450
        messages += [
            {"role": "user", "content": f"Search {number}.", "created_at": f"{at}:00Z"},
            {"role": "assistant", "content": "Searched.", "created_at": f"{at}:10Z", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result, "created_at": f"{at}:20Z"},
        ]
    return {"title": "Searches", "messages": [one | {"is_protected": one["role"] != "user"} for one in messages]}


def test_room_that_was_made_is_seen_looked_into_and_undone(at_site: Callable[..., Person], llm: LlmServer) -> None:
    alice = at_site()  # of its own: what a site has learned of its model's tokens decides what fits
    alice.sets_up()
    alice.imports(searches(8))
    llm.enqueue("Ten it is.")
    alice.says("And now?")
    alice.is_answered("Ten it is.")
    divider = alice.page.locator(".compaction-divider")
    expect(divider).to_contain_text("Room was made: 1 tool result left out")
    expect(alice.page.get_by_text("Its tool results are left out of requests for now")).to_have_count(1)
    divider.get_by_role("link", name="View").click()
    reader = alice.page.get_by_role("dialog")
    reader.locator(".tool summary").click()
    expect(reader).to_contain_text("Result 0 found port 9000")
    reader.get_by_role("link", name="Go to it").click()
    expect(reader).to_be_hidden()
    expect(alice.page.get_by_text("Its tool results are left out")).to_be_in_viewport()
    divider.get_by_role("button", name="Undo").click()
    expect(divider).to_have_count(0)
    expect(alice.page.get_by_text("Its tool results are left out")).to_have_count(0)
    assert alice.complaints == []


def test_a_page_that_fetched_the_state_before_a_compaction_shows_the_compaction(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    divider, notice = alice.page.locator(".compaction-divider"), alice.page.locator("#notice")
    late: list[tuple[Route, APIResponse]] = []
    alice.page.route("**/thread?*", lambda route: late.append((route, route.fetch())), times=1)
    divider.get_by_role("button", name="Undo").click()
    wait_until(lambda: bool(alice.page.wait_for_timeout(50) or late), what="the state before the compaction")
    notice.get_by_role("button", name="Compact less").click()
    expect(divider).to_contain_text("messages compacted")
    alice.page.evaluate(
        """() => new MutationObserver(() => { window.was_shown ||= !document.querySelector(".compaction-divider"); })
            .observe(document.querySelector("#thread"), { childList: true, subtree: true })"""
    )
    late[0][0].fulfill(response=late[0][1])
    wait_until(lambda: bool(alice.page.evaluate("window.was_shown")), what="the earlier state on the page")
    expect(notice).to_be_empty(timeout=4_000)  # the status line fetches the changes by itself after 10 s
    expect(divider).to_contain_text("messages compacted")
    assert alice.complaints == []


def test_an_undo_stays_undone_until_the_person_chooses(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    divider = alice.page.locator(".compaction-divider")
    divider.get_by_role("button", name="Undo").click()
    notice = alice.page.locator("#notice")
    expect(notice).to_contain_text("You undid a compaction. Automatic compaction pauses until you choose.")
    notice.get_by_role("button", name="Compact less").click()
    expect(divider).to_contain_text("messages compacted")
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(18)
    expect(notice).to_be_empty()
    divider.get_by_role("button", name="Undo").click()
    notice.get_by_role("button", name="Leave it").click()
    expect(notice).to_be_empty()
    llm.enqueue("All of it is here.")
    alice.says("What is here?")
    alice.is_answered("All of it is here.")
    expect(divider).to_have_count(0)
    assert alice.complaints == []
