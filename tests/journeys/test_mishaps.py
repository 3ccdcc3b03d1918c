"""What goes wrong is said where it is seen, and what was typed or opened is not lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.site import PASSWORD, Person, long_conversation
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser
UNREACHABLE = "The server cannot be reached."


def answered(alice: Person, llm: LlmServer, question: str = "One?", answer: str = "First.") -> None:
    llm.enqueue(answer)
    alice.says(question)
    alice.is_answered(answer)


def rewriting(page: Page) -> Locator:
    """The form of the first question, opened."""
    first = page.locator("#thread .message[data-role=user]").first
    first.hover()
    first.get_by_role("button", name="Edit").click()
    form = page.get_by_label("Your message")
    expect(form).to_be_focused()
    return form


def test_a_network_error_is_told_in_the_dialog_that_covers_the_page(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    answered(alice, llm)
    panel = context_of(alice, "Advanced")
    alice.page.context.set_offline(True)
    panel.get_by_role("button", name="Take a snapshot").click()
    expect(panel.locator("#dock-alert")).to_contain_text(UNREACHABLE)
    alice.page.context.set_offline(False)
    panel.get_by_role("button", name="Take a snapshot").click()
    expect(panel.locator("#snapshots-section")).to_contain_text("By hand")
    expect(panel.locator("#dock-alert")).to_be_empty()
    panel.get_by_role("button", name="Close").click()
    alice.page.context.set_offline(True)
    for act in ("Context", "Edit"):
        alice.page.locator("#thread .message").first.hover()
        alice.page.get_by_role("main").get_by_role("button", name=act, exact=True).or_(
            alice.page.get_by_role("main").get_by_role("link", name=act, exact=True)
        ).first.click()
        expect(alice.page.locator("#alert")).to_contain_text(UNREACHABLE)
        alice.page.locator("#alert button").click()


def test_a_refusal_is_told_in_the_dialog_and_goes_with_the_next_success(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    expect(alice.page.locator(".compaction-divider")).to_have_count(1)
    panel = context_of(alice, "Memory")
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    other.locator(".compaction-divider").get_by_role("button", name="Undo").click()
    expect(other.locator(".compaction-divider")).to_have_count(0)
    panel.get_by_role("button", name="Start fresh").click()
    expect(panel.locator("#dock-alert")).to_contain_text("Nothing is compacted")
    context_of(alice, "Advanced").get_by_role("button", name="Take a snapshot").click()
    expect(panel.locator("#dock-alert")).to_be_empty()


def test_an_undo_clicked_twice_is_done_once_and_nothing_is_complained_of(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    alice.page.locator(".compaction-divider").get_by_role("button", name="Undo").dblclick()
    expect(alice.page.locator(".message[data-state=live]")).to_have_count(30)
    expect(alice.page.locator("#alert")).to_be_empty()
    assert alice.complaints == []


def test_a_refusal_for_a_control_that_is_gone_is_told_all_the_same(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    undo = alice.page.locator(".compaction-divider").get_by_role("button", name="Undo")
    address = undo.get_attribute("hx-post")
    undo.click()
    expect(alice.page.locator(".compaction-divider")).to_have_count(0)
    alice.page.evaluate(
        """address => {
            const button = document.createElement("button");
            button.setAttribute("hx-post", address);
            document.querySelector("#thread").append(button);
            htmx.process(button);
            button.click();
            button.remove();
        }""",
        address,
    )
    expect(alice.page.locator("#alert")).to_contain_text("there is nothing to undo")
    assert not [words for words in alice.complaints if "re-target" in words]


def test_two_clicks_on_start_fresh_begin_one_conversation(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    expect(alice.page.locator(".compaction-divider")).to_have_count(1)
    here = alice.page.url
    context_of(alice, "Memory").get_by_role("button", name="Start fresh").dblclick()
    alice.page.wait_for_url(lambda url: "/c/" in url and url != here)
    expect(alice.page.locator("#conversations .entry a")).to_have_count(2)


def test_words_for_a_message_that_another_tab_replaced_go_into_the_box(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    answered(alice, llm)
    rewriting(alice.page).fill("my own second thought")
    other = alice.page.context.new_page()
    other.goto(alice.page.url)
    rewriting(other).fill("Two?")
    llm.enqueue("Second.")
    other.get_by_role("button", name="Save & ask again").click()
    alice.is_answered("Second.")
    expect(alice.box).to_have_value("my own second thought")
    expect(alice.page.locator("#alert")).to_contain_text("replaced meanwhile")
    expect(other.locator("[name=content]")).to_have_value("")


def test_words_of_an_edit_outlive_a_session(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    answered(alice, llm)
    rewriting(alice.page).fill("Which one?")
    alice.page.context.clear_cookies(name="sessionid")
    alice.page.get_by_role("button", name="Save & ask again").click()
    alice.page.get_by_label("Username").fill(alice.name)
    alice.page.get_by_label("Password").fill(PASSWORD)
    alice.page.get_by_role("button", name="Sign in").click()
    form = rewriting(alice.page)
    expect(form).to_have_value("Which one?")
    llm.enqueue("This one.")
    form.press("Control+Enter")
    alice.is_answered("This one.")
    expect(alice.box).to_have_value("")
    expect(rewriting(alice.page)).to_have_value("Which one?")
    rewriting_again = alice.page.get_by_label("Your message")
    rewriting_again.fill("something else")
    rewriting_again.press("Escape")
    expect(alice.page.get_by_role("button", name="Edit").first).to_be_focused()
    expect(rewriting(alice.page)).to_have_value("Which one?")


def test_what_was_opened_of_a_fold_stays_open_and_in_place_when_a_message_is_pinned(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    alice.page.get_by_role("button", name="messages, all still here").click()
    rows = alice.page.locator(".message[data-state=compressed]")
    expect(rows).to_have_count(26)
    for number in (12, 20):
        rows.nth(number).locator("summary").click()
        expect(rows.nth(number).locator(".text")).to_be_visible()
    row = rows.nth(12)
    row.scroll_into_view_if_needed()
    id = row.get_attribute("id")
    alice.chooses(row, "Pin")
    pinned = alice.page.locator(f"#{id}")
    expect(pinned).to_have_attribute("data-state", "protected")
    expect(rows).to_have_count(25)
    expect(alice.page.locator(".row[open] .text")).to_have_count(1)
    expect(pinned).to_be_in_viewport()
    expect(pinned.get_by_role("button", name="More")).to_be_focused()
    rows.nth(19).get_by_role("button", name="Edit").click()
    rows.nth(19).get_by_role("button", name="Cancel").click()
    expect(rows.nth(19).locator(".text")).to_contain_text("service-20 listens")
    assert alice.complaints == []


def test_a_page_that_was_cut_off_shows_what_came_meanwhile_and_keeps_what_it_has(alice: Person, llm: LlmServer) -> None:
    alice.imports(long_conversation(70))
    answered(alice, llm)
    alice.page.get_by_role("button", name="Show earlier").scroll_into_view_if_needed()
    expect(alice.replies).to_have_count(36)
    form = rewriting(alice.page)
    form.fill("other words")
    llm.enqueue("one two three four", drip=0.5)
    alice.says("Two?")
    expect(alice.replies.last).to_contain_text("one")
    alice.page.route("**/thread?**", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}), times=1)
    sever(alice.page)
    expect(alice.replies.last).to_have_attribute("data-status", "complete")
    expect(alice.replies.last).to_contain_text("one two three four")
    expect(alice.replies).to_have_count(37)
    expect(form).to_have_value("other words")
    numbers = alice.page.locator("#thread .message").evaluate_all("all => all.map((one) => one.id)")
    assert len(numbers) == len(set(numbers)) == 74


def sever(page: Page) -> None:
    """What a network does that lets go of a socket: htmx opens it anew."""
    page.evaluate("document.querySelector('[ws-connect]')['htmx-internal-data'].webSocket.socket.close(4999)")
