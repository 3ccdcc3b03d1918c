"""Several chats of the list are selected, archived, downloaded and deleted together."""

from __future__ import annotations

from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.journeys.test_accessibility import Checked

pytestmark = pytest.mark.browser


def test_several_chats_are_downloaded_and_deleted_and_taken_back(alice: Person) -> None:
    page = alice.page
    for number in range(3):
        alice.begins()
        alice.says(f"Chat number {number}")
        alice.is_answered("All right.")
    page.goto(alice.site.url)
    page.get_by_role("button", name="Select", exact=True).click()
    bar = page.locator("#several")
    expect(bar.get_by_role("button", name="Delete")).to_be_disabled()
    page.locator(".entry > a", has_text="Chat number 0").click()
    page.get_by_label("Select Chat number 2").check()
    expect(bar.locator("b")).to_have_text("2 selected")
    assert page.url == f"{alice.site.url}/"
    check = Checked(page)
    check("several chats selected")
    assert check.wrong == []
    with page.expect_download() as download:
        bar.get_by_role("button", name="Download").click()
    with ZipFile(download.value.path()) as archive:
        assert len([name for name in archive.namelist() if name.endswith(".md")]) == 2
    bar.get_by_role("button", name="Delete").click()
    undo = page.locator(".just-gone").get_by_role("button", name="Restore")
    expect(undo).to_have_count(2)
    expect(page.locator("#conversations .entry")).to_have_count(1)
    undo.first.click()
    page.reload()
    expect(page.locator("#conversations .entry")).to_have_count(2)
    assert alice.complaints == []


def test_escape_ends_the_selection(alice: Person) -> None:
    page = alice.page
    alice.begins()
    alice.says("Only one")
    alice.is_answered("All right.")
    page.reload()
    page.get_by_role("button", name="Select", exact=True).click()
    expect(page.get_by_label("Select Only one")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    expect(page.locator("#several")).to_be_hidden()
    expect(page.get_by_role("button", name="Select", exact=True)).to_be_focused()
    page.locator(".entry > a", has_text="Only one").click()
    page.wait_for_url("**/c/**")
