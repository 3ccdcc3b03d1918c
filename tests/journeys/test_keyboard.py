"""The keyboard's place on the page: what a person works with keeps the focus, or hands it to what is next to it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_settings import context_of
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def button(place: Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name)


def test_the_focus_stays_among_the_rules_and_steps_that_it_changes(alice: Person) -> None:
    alice.begins()
    panel = context_of(alice, "Rules")
    for rule in ("Use UTC", "Never on Fridays", "Always ask"):
        panel.get_by_label("A further rule").fill(rule)
        panel.get_by_label("A further rule").press("Enter")
        expect(panel.locator("#rules-section li[data-state=in_force]").last.get_by_role("textbox")).to_have_value(rule)
        expect(panel.get_by_label("A further rule")).to_be_focused()
    panel.get_by_label("Rule 1", exact=True).fill("Use local time")
    panel.get_by_label("Rule 1", exact=True).press("Tab")
    expect(button(panel, "Remove rule 1: Use local time")).to_be_focused()
    button(panel, "Remove rule 3").press("Enter")
    expect(button(panel, "Remove rule 2")).to_be_focused()
    button(panel, "Remove rule 1").press("Enter")
    expect(button(panel, "Remove rule 1: Never on Fridays")).to_be_focused()
    button(panel, "Remove rule 1").press("Enter")
    expect(panel.get_by_label("A further rule")).to_be_focused()
    context_of(alice, "Instructions")
    panel.get_by_label("The goal of this conversation").fill("Move alpha")
    button(panel, "Set goal").press("Enter")
    expect(panel.get_by_role("heading", name="Goal")).to_be_focused()
    panel.get_by_label("A further checkpoint").fill("Copy the archive")
    panel.get_by_label("A further checkpoint").press("Enter")
    button(panel, "Remove Copy the archive").press("Enter")
    expect(panel.get_by_label("A further checkpoint")).to_be_focused()
    button(panel, "Completed").press("Enter")
    expect(panel.get_by_role("heading", name="Goal")).to_be_focused()
    assert alice.complaints == []


def test_the_focus_stays_with_a_message_that_is_pinned_edited_or_answered_anew(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    for question in ("One?", "Two?"):
        llm.enqueue("So it is.")
        alice.says(question)
        alice.is_answered("So it is.")
    question, reply = (
        alice.page.locator(f"#thread .message[data-role={role}]").first for role in ("user", "assistant")
    )
    for before, after in (("Pin", "Unpin"), ("Unpin", "Pin")):
        button(reply, "More").press("Enter")
        button(reply, before).press("Enter")
        expect(button(reply, "More")).to_be_focused()
        button(reply, "More").press("Enter")
        expect(button(reply, after)).to_be_visible()
        alice.page.keyboard.press("Escape")
    button(question, "Edit").press("Enter")
    button(question, "Cancel").press("Enter")
    expect(button(question, "Edit")).to_be_focused()
    button(reply, "Regenerate").press("Enter")
    expect(button(reply, "Regenerate all the same")).to_be_focused()
    button(reply, "Cancel").press("Enter")
    expect(button(reply, "Regenerate")).to_be_focused()


def test_the_open_menu_of_a_message_stays_open_when_the_message_is_drawn_anew(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("So it is.")
    alice.says("One?")
    alice.is_answered("So it is.")
    there = alice.page.context.new_page()
    there.goto(alice.page.url)
    reply, same = (page.locator("#thread .message[data-role=assistant]") for page in (alice.page, there))
    button(reply, "More").press("Enter")
    expect(button(reply, "Pin")).to_be_visible()
    button(same, "More").press("Enter")
    button(same, "Pin").press("Enter")
    expect(button(reply, "Unpin")).to_be_visible()
    expect(same.locator(".menu:popover-open")).to_have_count(0)
    alice.page.keyboard.press("Escape")
    expect(button(reply, "More")).to_be_focused()
    assert alice.complaints == []


def test_the_focus_goes_to_the_thread_when_a_divider_goes(alice: Person) -> None:
    alice.imports(long_conversation(30))
    alice.page.locator("#compact").click()
    button(alice.page.locator(".compaction-divider"), "Undo").press("Enter")
    expect(alice.page.locator(".compaction-divider")).to_have_count(0)
    expect(alice.page.get_by_role("region", name="Messages")).to_be_focused()


def test_a_message_read_again_meanwhile_is_edited_all_the_same(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    llm.enqueue("So it is.")
    alice.says("One?")
    alice.is_answered("So it is.")
    question, reply = (alice.page.locator(f"#thread .message[data-role={role}]") for role in ("user", "assistant"))
    asked: list[Route] = []
    alice.page.route("**/edit", lambda route: asked.append(route))
    button(question, "Edit").press("Enter")
    alice.chooses(reply, "Pin")
    expect(reply).to_have_attribute("data-state", "protected")
    asked[0].continue_()
    expect(question.get_by_role("textbox")).to_have_value("One?")


def test_who_sends_stops_or_looks_from_a_menu_writes_on_and_a_summary_half_written_is_kept(
    alice: Person, llm: LlmServer
) -> None:
    alice.imports(long_conversation(30))
    llm.enqueue("word " * 400, drip=0.02)
    alice.box.fill("Tell me much")
    alice.page.locator("#send").click()
    expect(alice.page.locator("#stop")).to_be_visible()
    expect(alice.box).to_be_focused()
    alice.page.locator("#stop").click()
    expect(alice.page.locator("#send")).to_be_visible()
    expect(alice.box).to_be_focused()
    alice.page.locator("#meter-button").click()
    alice.page.get_by_role("link", name="Open all").click()
    expect(alice.page.get_by_role("dialog")).to_be_visible()
    alice.page.keyboard.press("Escape")
    expect(alice.page.locator("#meter-button")).to_be_focused()
    alice.page.locator("#compact").click()
    summary = alice.page.get_by_label("The summary")
    alice.edits_summary()
    summary.fill("## Summary\nHalf a thought")
    summary.press("Escape")
    alice.edits_summary()
    expect(summary).to_have_value("## Summary\nHalf a thought")
    summary.fill("## Summary\nA whole thought\n\n## State\nDone")
    button(alice.page.get_by_role("dialog"), "Save").click()
    button(alice.page.get_by_role("dialog"), "Edit this summary").click()
    expect(summary).to_have_value("## Summary\nA whole thought\n\n## State\nDone")
    assert alice.complaints == []


def test_who_has_scrolled_far_up_comes_back_to_the_latest_by_one_press(alice: Person) -> None:
    alice.imports(long_conversation(50, words=60))
    latest, last = button(alice.page.locator("body"), "To the latest"), alice.page.locator("#thread .message").last
    expect(last).to_be_in_viewport()
    expect(latest).to_be_hidden()
    alice.page.locator("#scroller").evaluate("(scroller) => { scroller.scrollTop = 200; }")
    latest.press("Enter")
    expect(last).to_be_in_viewport()
    expect(latest).to_be_hidden()
    expect(alice.page.locator("#scroller")).to_be_focused()
    assert alice.complaints == []
