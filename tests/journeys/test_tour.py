"""A newcomer's afternoon, as docs/tour.md tells it. `PICTURES=docs` writes that page's pictures anew."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import openai
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conversations.exports import chatgpt, told
from tests.journeys.site import PASSWORD, ROOT, Person, Site, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

PICTURES = os.environ.get("PICTURES", "")
WITHOUT_MODEL = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OPENAI_MODEL": "", "OPENAI_CONTEXT_WINDOW": ""}
NOTES = b"The rack of the lab has 12 slots. Slot 7 is free. The key is with Grace."


def pictured(page: Page, name: str) -> None:
    if PICTURES:
        page.wait_for_timeout(300)
        page.screenshot(path=str(ROOT / PICTURES / f"tour-{name}.png"))


def manage(site: Site, *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=site.environment, check=True, capture_output=True, text=True).stdout


def test_a_newcomer_s_afternoon(chromium: Browser, tmp_path: Path) -> None:
    with LlmServer() as llm, Site(tmp_path, llm_url="", **WITHOUT_MODEL) as site:
        page = chromium.new_page(viewport={"width": 1000, "height": 700})
        ada = Person(page, site, name="ada")

        page.goto(site.url)
        pictured(page, "setup")
        ada.sets_up()
        page.get_by_role("link", name="Connect a model").first.click()
        page.goto(f"{site.url}/models/connect?preset=other")
        page.get_by_label("Address").fill(llm.url)
        page.get_by_label("Model", exact=True).fill("scripted")
        page.get_by_label("Name in the list of models").fill("my-model")
        pictured(page, "connect")
        page.get_by_role("button", name="Test and save").click()
        page.wait_for_url(f"{site.url}/")

        llm.enqueue("Slot 7: it is the only free one of the 12.")
        page.get_by_role("textbox", name="Message").fill("Which slot of the rack is free?")
        page.keyboard.press("Enter")
        ada.is_answered("Slot 7")
        pictured(page, "chat")

        export = chatgpt(told("user", "When does the lease end?"), told("assistant", "On 7 May."), title="The lease")
        page.goto(f"{site.url}/import")
        page.locator("#import-files").set_input_files(
            {"name": "conversations.json", "mimeType": "application/json", "buffer": json.dumps([export]).encode()}
        )
        page.wait_for_url("**/c/**")
        expect(page.locator("#thread")).to_contain_text("On 7 May.")

        ada.begins()
        page.locator("#files").set_input_files({"name": "rack.txt", "mimeType": "text/plain", "buffer": NOTES})
        expect(page.locator("#attachments .chip")).to_contain_text("tokens")
        llm.enqueue("Grace has it.")
        ada.says("Who has the key?")
        ada.is_answered("Grace")
        assert "Slot 7 is free." in llm.chats[-1].text

        ada.imports(long_conversation(40))
        page.locator("#compact").click()
        expect(page.locator(".compaction-divider")).to_contain_text("messages compacted")

        page.goto(f"{site.url}/settings/#keys-section")
        page.get_by_label("What the key is for").fill("My editor")
        page.get_by_role("button", name="Make a key").click()
        key = page.locator("#new-key").inner_text().strip()
        client = openai.OpenAI(base_url=f"{site.url}/v1", api_key=key, max_retries=0)
        llm.enqueue("Through the gateway.")
        answer = client.chat.completions.create(model="my-model", messages=[{"role": "user", "content": "Hi."}])
        assert answer.choices[0].message.content == "Through the gateway."

        page.goto(f"{site.url}/admin/conversations/invitation/add/")
        page.get_by_label("For").fill("Grace")
        page.get_by_role("button", name="Save", exact=True).click()
        link = re.search(r"https?://\S+/join/\S+?(?=[\s\"<])", page.content() + " ")
        assert link, page.content()
        pictured(page, "invitation")
        other = chromium.new_context().new_page()
        other.goto(link[0])
        other.get_by_label("Username").fill("grace")
        other.get_by_label("Password", exact=True).fill(PASSWORD)
        other.get_by_label("Password confirmation").fill(PASSWORD)
        other.get_by_role("button", name="Create").click()
        other.wait_for_url(f"{site.url}/")
        other.context.close()

        manage(site, "backup", str(tmp_path / "chatsite.backup"))
        site.stop()
        site.start()  # as after an upgrade: the start migrates the database
        page.goto(site.url)
        expect(page.locator("#conversations")).to_contain_text("The lease")
        page.close()
    with closing(sqlite3.connect(tmp_path / "chatsite.sqlite3")) as database:
        (before,) = database.execute("SELECT count(*) FROM conversations_message").fetchone()
    copy = tmp_path / "copy"
    copy.mkdir()
    other_site = Site(copy, llm_url="", **WITHOUT_MODEL)
    manage(other_site, "migrate")
    manage(other_site, "restore", str(tmp_path / "chatsite.backup"))
    with closing(sqlite3.connect(copy / "chatsite.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM conversations_message").fetchone() == (before,)
