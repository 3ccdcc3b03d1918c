"""A person shares a chat, a stranger reads it, and the person ends it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.site import Person
from tests.journeys.test_accessibility import Checked
from tests.journeys.test_widths import Measured
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_a_chat_is_shared_read_and_taken_back(alice: Person, llm: LlmServer, chromium: Browser) -> None:
    page = alice.page
    llm.enqueue("**5433**, as long as `node-7` runs.")
    alice.begins()
    alice.says("Which port is free?")
    alice.is_answered("5433")
    checked, measured = Checked(page), Measured(page)
    page.get_by_role("button", name="Menu", exact=True).click()
    page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("rules, project, summaries, results of tools")).to_be_visible()
    checked("sharing")
    with page.expect_popup() as opened:
        dialog.get_by_role("button", name="See it first").click()
    preview = opened.value
    expect(preview.get_by_text("Not shared yet")).to_be_visible()
    preview.close()

    dialog.get_by_text("In a day").click()
    dialog.get_by_label("My name").uncheck()
    dialog.get_by_role("button", name="Make the address").click()
    address = dialog.get_by_label("Address").input_value()
    assert re.fullmatch(rf"{alice.site.url}/s/[\w-]{{22}}", address)
    expect(dialog.get_by_text("Not opened yet.")).to_be_visible()
    checked("a shared chat's dialog")

    stranger = chromium.new_context(service_workers="block").new_page()
    stranger.goto(address)
    expect(stranger.get_by_role("heading", name="Which port is free")).to_be_visible()
    expect(stranger.get_by_text("5433")).to_be_visible()
    expect(stranger.get_by_text("Read only")).to_be_visible()
    assert alice.name not in stranger.content() and not stranger.get_by_role("button").count()
    reading = Checked(stranger)
    reading("a shared chat")
    checked.wrong += reading.wrong
    measured_there = Measured(stranger)
    measured_there("a shared chat")
    measured.wrong += measured_there.wrong

    dialog.get_by_role("button", name="End it now").click()
    expect(dialog.get_by_role("button", name="Make the address")).to_be_visible()
    answer = stranger.goto(address)
    assert answer and answer.status == 404
    stranger.context.close()
    assert (checked.wrong, measured.wrong, alice.complaints) == ([], [], [])
