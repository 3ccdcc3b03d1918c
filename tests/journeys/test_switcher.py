"""The model of a chat, chosen from its head: with a mouse, with keys alone, and on a phone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.journeys.site import ROOT, Person
from tests.journeys.test_accessibility import Checked
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser


@pytest.fixture
def with_models(at_site: Callable[..., Person]) -> Person:
    """A person at a site with three models, in a chat that was answered once."""
    alice = at_site()
    alice.sets_up()
    environment, code = alice.site.environment, "from conversations.models import ModelProfile as M\n"
    code += f"M.objects.create(name='seer', model_id='seer', base_url='{environment['OPENAI_BASE_URL']}', "
    code += "api_key='k', window=64_000, sees_images=True)\n"
    code += f"M.objects.create(name='worker', model_id='worker', base_url='{environment['OPENAI_BASE_URL']}', "
    code += "api_key='k', window=32_000, calls_tools=True)"
    command = [sys.executable, "manage.py", "shell", "--verbosity=0", "--command", code]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    alice.begins()
    alice.says("Hello.")
    alice.is_answered("All right.")
    return alice


def test_a_model_is_found_and_chosen_with_keys_alone(with_models: Person, llm: LlmServer) -> None:
    page = with_models.page
    button, switcher = page.locator("#switch"), page.get_by_role("dialog", name="Model")
    button.focus()
    page.keyboard.press("Enter")
    expect(switcher.get_by_label("Find a model")).to_be_focused()
    page.keyboard.type("wor")
    expect(switcher.locator("[data-abilities]:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(switcher).to_be_hidden()
    expect(button).to_contain_text("worker")
    llm.enqueue("The worker answers.")
    with_models.says("And now?")
    with_models.is_answered("The worker answers.")
    assert llm.chats[-1].body["model"] == "worker"
    assert with_models.complaints == []


def test_models_are_sifted_by_what_they_can_and_favourites_stay_first(with_models: Person) -> None:
    page = with_models.page
    page.locator("#switch").click()
    switcher = page.get_by_role("dialog", name="Model")
    switcher.get_by_role("button", name="Sees", exact=True).click()
    expect(switcher.locator("[data-abilities]:visible")).to_have_count(1)
    expect(switcher.locator("[data-abilities]:visible")).to_contain_text("seer")
    switcher.get_by_label("Find a model").fill("none such")
    expect(switcher.get_by_text("No model like that.")).to_be_visible()
    switcher.get_by_label("Find a model").fill("")
    switcher.get_by_role("button", name="Sees", exact=True).click()
    switcher.get_by_role("button", name="Favourite: worker").click()
    expect(switcher.locator("[data-abilities]").first).to_contain_text("worker")
    switcher.get_by_role("button", name="High").click()
    expect(page.locator("#switch")).to_contain_text("High")
    expect(switcher).to_be_visible()
    check = Checked(page)
    check("the list of models")
    assert check.wrong == []
    page.keyboard.press("Escape")
    expect(switcher).to_be_hidden()
    page.reload()
    page.locator("#switch").click()
    expect(switcher.locator("[data-abilities]").first).to_contain_text("worker")
    assert with_models.complaints == []


def test_on_a_phone_both_lines_of_the_head_open_the_list(with_models: Person) -> None:
    page = with_models.page
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#side")).to_be_hidden()
    title = page.get_by_role("heading", level=1).bounding_box()
    assert title
    page.mouse.click(title["x"] + 30, title["y"] + 8)
    switcher = page.get_by_role("dialog", name="Model")
    expect(switcher).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    switcher.get_by_role("button", name=re.compile("^seer")).click()
    expect(page.locator("#switch")).to_contain_text("seer")
    page.get_by_role("button", name="Menu").click()
    page.get_by_text("Export as…").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Markdown", exact=True).click()
    assert download.value.suggested_filename.endswith(".md")
