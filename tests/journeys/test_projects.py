"""Projects in a browser: made, filled, moved into, begun in and deleted, on a desktop and on a phone."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_accessibility import Checked
from tests.journeys.test_widths import LONG, Measured
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


def test_a_project_is_made_filled_and_deleted(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    alice.says("Which port is free?")
    alice.is_answered("All right.")
    page.goto(alice.site.url)
    page.get_by_role("button", name="New project").click()
    expect(page.get_by_role("heading", name="New project")).to_be_visible()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    name.fill("Billing")
    name.press("Enter")
    expect(page.get_by_role("heading", name="Billing")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?new$"))  # Enter keeps the name, and leaves the page to the site
    page.get_by_label("Instructions").fill("Times are UTC.")
    page.get_by_label("Instructions").blur()
    expect(page.locator("#kept")).to_have_text("Kept.")
    page.get_by_label("Colour").select_option("violet")
    expect(page.locator(".folder .of-violet")).to_be_visible()

    page.get_by_role("button", name="delete Which port is free?").click()
    page.get_by_role("button", name="Move to a project").click()
    page.get_by_role("radio", name="Billing").check()
    checked, measured = Checked(page), Measured(page)
    checked("moving")
    page.get_by_role("button", name="Move", exact=True).click()
    listed = page.locator(".listed")
    expect(listed.get_by_role("link", name="Which port is free?")).to_be_visible()
    expect(page.locator("#conversations .inside")).to_have_count(1)

    page.get_by_role("textbox", name="Message", exact=True).fill("And which host?")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    assert "Times are UTC." in llm.chats[-1].text
    page.locator(".head").get_by_role("link", name="Billing").click()
    expect(listed.get_by_role("link")).to_have_count(2)
    page.get_by_label("Name", exact=True).fill(LONG[:100])
    page.get_by_label("Name", exact=True).blur()
    expect(page.get_by_role("heading", name=LONG[:100])).to_be_visible()
    checked("a project")
    measured("a project")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete the project").click()
    expect(page.get_by_text("Its chats are in the list.")).to_be_visible()
    expect(page.locator("#conversations .folder")).to_have_count(0)
    assert (checked.wrong, measured.wrong, alice.complaints) == ([], [], [])


def test_several_chats_are_moved_to_a_new_project(alice: Person) -> None:
    page = alice.page
    for words in ("First question", "Second question"):
        alice.begins()
        alice.says(words)
        alice.is_answered("All right.")
    page.locator("#select").click()
    for box in page.locator(".tick-one").all():
        box.check()
    page.locator("#several").get_by_role("button", name="Move").click()
    page.get_by_label("Or a new project").fill("Thesis")
    page.get_by_role("button", name="Move", exact=True).last.click()
    expect(page.locator("#conversations .inside")).to_have_count(2)
    expect(page.locator("#conversations .folder")).to_have_text("Thesis")
    assert alice.complaints == []


def test_a_file_is_added_read_asked_about_and_removed(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    page.goto(alice.site.url)
    page.get_by_role("button", name="New project").click()
    files = page.locator("#project-files")
    text = (
        "The keeper cleans the lamp.\n" * 300
        + "A dark night costs 4,711 crowns.\n"
        + "The boat comes on Tuesdays.\n" * 300
    )
    contract = {"name": f"contract {LONG[:120]}.txt", "mimeType": "text/plain", "buffer": text.encode()}
    files.get_by_label("Add a file").set_input_files(contract)
    expect(files.get_by_role("link")).to_have_count(1)
    checked, measured = Checked(page), Measured(page)
    checked("the files of a project")
    measured("the files of a project")
    files.get_by_role("link").click()
    expect(page.locator("#around")).to_contain_text("The keeper cleans the lamp.")
    checked("a file of a project")
    measured("a file of a project")
    page.get_by_role("button", name="Close").click()
    files.get_by_label("Add a file").set_input_files({"name": "x", "mimeType": "text/plain", "buffer": b" "})
    expect(files.get_by_role("alert")).to_have_text("Is empty.")

    page.get_by_role("textbox", name="Message", exact=True).fill("What does a dark night cost?")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    asked = llm.chats[-1].text
    assert "4,711 crowns" in asked and "contract" in asked and len(asked) < len(text) / 2
    page.locator(".head .of-project").click()
    files.get_by_role("button", name="Remove contract").click()
    expect(files.get_by_role("link")).to_have_count(0)
    assert (checked.wrong, measured.wrong) == ([], [])
    assert [one for one in alice.complaints if "400" not in one] == []


def test_a_rule_of_one_chat_is_kept_for_the_project_and_let_go(alice: Person, llm: LlmServer) -> None:
    page = alice.page
    alice.begins()
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill("Billing")
    page.get_by_label("Name", exact=True).blur()
    expect(page.get_by_role("heading", name="Billing")).to_be_visible()
    project = page.url
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.fill("Always answer in French.")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    mark = page.locator(".mark.orders")
    mark.get_by_role("button", name="Keep for the project").click()
    expect(mark.get_by_role("button", name="Keep in this chat alone")).to_be_visible()
    checked, measured = Checked(page), Measured(page)
    checked("a kept rule")
    page.goto(project)
    kept = page.locator(".project-kept")
    expect(kept).to_contain_text("Always answer in French.")
    checked("what is kept")
    measured("what is kept")
    box.fill("Which port is free?")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    assert "# Rules of the project" in llm.chats[-1].text and "- Always answer in French." in llm.chats[-1].text
    page.goto(project)
    kept.get_by_role("button", name="Keep in its chat alone").click()
    expect(kept.get_by_text("Always answer in French.")).to_have_count(0)
    box.fill("And which host?")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    assert "# Rules of the project" not in llm.chats[-1].text
    assert (checked.wrong, measured.wrong, alice.complaints) == ([], [], [])


def test_two_people_share_a_project_until_one_of_them_leaves(alice: Person, grace: Person, llm: LlmServer) -> None:
    page, hers = alice.page, grace.page
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill("Billing")
    page.get_by_label("Name", exact=True).blur()
    expect(page.get_by_role("heading", name="Billing")).to_be_visible()
    page.get_by_role("textbox", name="Message", exact=True).fill("The port of the billing service is 5433.")
    page.keyboard.press("Enter")
    alice.is_answered("All right.")
    page.locator(".head").get_by_role("link", name="Billing").click()
    project = page.url
    people = page.get_by_role("region", name="People")
    people.get_by_label("Name of the person").fill("nobody-of-this-name")
    people.get_by_role("button", name="Share").click()
    expect(people.get_by_role("alert")).to_contain_text("Nobody here has the name “nobody-of-this-name”")
    checked, measured = Checked(page), Measured(page)
    people.get_by_label("Name of the person").fill(grace.name)
    people.get_by_label("Role").select_option("writer")
    people.get_by_role("button", name="Share").click()
    expect(people.get_by_role("listitem")).to_contain_text(grace.name)
    checked("people")
    measured("people")

    hers.goto(grace.site.url)
    hers.locator(".folder").get_by_role("link", name="Billing").click()
    expect(hers.get_by_text(f"{alice.name} shares this project with you.")).to_be_visible()
    hers.locator(".listed").get_by_role("link", name="The port of the billing").click()
    expect(hers.get_by_text("Read only")).to_be_visible()
    expect(hers.get_by_text("The port of the billing service is 5433.").last).to_be_visible()
    read, wide = Checked(hers), Measured(hers)
    read("a chat of another person")
    wide("a chat of another person")
    hers.get_by_role("link", name="Billing").click()
    read("a project of another person")
    wide("a project of another person")
    page.goto(f"{alice.site.url}/search?q=5433")  # a search has what was said indexed
    expect(page.get_by_role("link", name="5433").first).to_be_visible()
    page.goto(project)
    for _ in range(10):  # what other journeys imported may wait to be indexed before it
        asked = len(llm.chats)
        hers.get_by_role("textbox", name="Message", exact=True).fill("Which port has the billing service?")
        hers.keyboard.press("Enter")
        while len(llm.chats) == asked:
            time.sleep(0.1)
        grace.is_answered("All right.")
        if "5433" in llm.chats[-1].text:
            break
        time.sleep(3)
    assert f"{alice.name}, in" in llm.chats[-1].text and "5433" in llm.chats[-1].text

    page.reload()
    expect(page.locator(".listed").get_by_role("link", name="Which port has the billing")).to_contain_text(grace.name)
    hers.locator(".head").get_by_role("link", name="Billing").click()
    hers.once("dialog", lambda dialog: dialog.accept())
    hers.get_by_role("button", name="Leave the project").click()
    expect(hers.get_by_text("You left the project “Billing”.")).to_be_visible()
    expect(hers.locator("#conversations .folder")).to_have_count(0)
    page.reload()
    expect(page.locator(".listed").get_by_role("link")).to_have_count(1)
    unexpected = [*alice.complaints, *grace.complaints]
    assert [one for one in unexpected if "400" not in one] == []  # the name that nobody has
    assert (checked.wrong, measured.wrong, read.wrong, wide.wrong) == ([], [], [], [])


def test_a_project_folds_and_stays_folded(alice: Person) -> None:
    page = alice.page
    alice.imports(long_conversation(4))
    page.get_by_role("button", name="delete A long talk").click()
    page.get_by_role("button", name="Move to a project").click()
    page.get_by_label("New project").fill("Billing")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("link", name="Billing").first).to_be_visible()
    page.goto(alice.site.url)
    page.wait_for_load_state("domcontentloaded")  # before that, no module hears of a key
    inside, folds = page.locator("#conversations .entry.inside"), page.get_by_role("button", name="Chats of Billing")
    expect(inside).to_have_count(1)
    folds.press("Enter")
    expect(inside).to_have_count(0)
    expect(folds).to_have_attribute("aria-expanded", "false")
    expect(folds).to_be_focused()
    page.reload()
    page.wait_for_load_state("domcontentloaded")
    expect(inside).to_have_count(0)
    folds.click()
    expect(inside).to_have_count(1)
    assert alice.complaints == []
