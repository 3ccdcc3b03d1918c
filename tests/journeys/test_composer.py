"""Long pastes and files, from the box to the model and into the bubble, in a real browser."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.journeys.site import Person, Town
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

MARKER = "[LongText#1]"
RUNBOOK = "drain node-3,\r\nthen switch 🙂\t[LongText#2]\u2028" * 10
LOG = "  ERROR at 5433 \n" * 20
PASTES = """({ text, image }) => {
    const data = new DataTransfer(), box = document.querySelector("#content");
    if (text) data.setData("text/plain", text);
    if (image) data.items.add(new File([Uint8Array.from(image)], "image.png", { type: "image/png" }));
    box.focus();
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    if (box.dispatchEvent(event) && text) document.execCommand("insertText", false, text);
}"""
DROPS = """({ name, text }) => {
    const dataTransfer = new DataTransfer(), scroller = document.querySelector("#scroller");
    dataTransfer.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        scroller.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
}"""


@pytest.fixture
def seeing(town: Town) -> Iterator[None]:
    """The model of the shared site sees images for once."""
    _set_sees_images(town, True)
    yield
    _set_sees_images(town, False)


def _set_sees_images(town: Town, on: bool) -> None:
    with closing(sqlite3.connect(town.data / "chatsite.sqlite3")) as database, database:
        database.execute("UPDATE conversations_modelprofile SET sees_images = ?", [on])


def pastes(person: Person, text: str) -> None:
    person.page.evaluate(PASTES, {"text": text})


def chips(person: Person, kind: str = "pastes") -> Any:
    return person.page.locator(f"#{kind} .chip")


def stored(person: Person) -> list[str]:
    """The messages of the open conversation, as its export has them."""
    exported = person.page.request.get(person.page.url + "export?format=json")
    return [message["content"] for message in exported.json()["messages"]]


def png(colour: str) -> bytes:
    made = BytesIO()
    Image.new("RGB", (600, 400), colour).save(made, "PNG")
    return made.getvalue()


def test_long_pastes_stand_as_markers_and_only_they_are_expanded(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    alice.box.press_sequentially(f"{MARKER} is mine; ")
    pastes(alice, "x" * 200)
    expect(chips(alice)).to_have_count(0)
    pastes(alice, RUNBOOK)
    alice.box.press_sequentially(f"{MARKER} then ")
    pastes(alice, LOG)
    written = f"{MARKER} is mine; {'x' * 200}{MARKER}{MARKER} then [LongText#2]"
    expect(alice.box).to_have_value(written)
    expect(chips(alice)).to_have_count(2)
    expect(chips(alice).first).to_contain_text("LongText#1 420 characters")

    alice.box.press("Backspace")  # into the second marker, and undone
    expect(chips(alice)).to_have_count(1)
    alice.box.press("Control+z")
    expect(alice.box).to_have_value(written)
    expect(chips(alice)).to_have_count(2)

    alice.page.reload()
    expect(chips(alice)).to_have_count(2)
    chips(alice).first.get_by_role("button", name="View").click()
    assert alice.page.locator("#panel pre").text_content() == RUNBOOK
    alice.page.keyboard.press("Escape")

    said = f"{MARKER} is mine; {'x' * 200}{RUNBOOK}{MARKER} then {LOG}"
    alice.box.press("Enter")
    alice.is_answered("All right.")
    assert stored(alice)[0] == said
    assert llm.chats[-1].body["messages"][-1]["content"] == said
    expect(alice.box).to_have_value("")
    expect(chips(alice)).to_have_count(0)
    inset = alice.page.locator(".message[data-role=user] details").first
    inset.locator("summary").click()
    assert inset.locator("div").text_content() == RUNBOOK.replace("\r\n", "\n")
    assert alice.complaints == []


def test_a_paste_is_taken_away_put_in_or_too_much_to_keep(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    pastes(alice, LOG)
    alice.box.press_sequentially(" and ")
    pastes(alice, RUNBOOK)
    alice.box.press("Home")
    alice.box.press_sequentially(MARKER)  # typed just before the real one, and deleted again
    for _ in MARKER:
        alice.box.press("Backspace")
    expect(chips(alice)).to_have_count(2)
    chips(alice).first.get_by_role("button", name="Insert as text").click()
    expect(alice.box).to_have_value(f"{LOG} and [LongText#2]")
    chips(alice).get_by_role("button", name="Remove").click()
    expect(alice.box).to_have_value(f"{LOG} and ")
    alice.box.press("Control+z")
    expect(chips(alice)).to_have_count(1)
    alice.box.press("Control+End")

    alice.page.evaluate("localStorage.setItem('full', 'x'.repeat(5_242_880 - 2_000))")
    pastes(alice, "w" * 3_000)
    expect(alice.page.get_by_role("alert")).to_contain_text("This browser keeps no more")
    assert alice.box.input_value() == f"{LOG} and [LongText#2]" + "w" * 3_000
    alice.page.evaluate("localStorage.removeItem('full')")
    llm.enqueue("I see.")
    alice.box.press("Enter")
    alice.is_answered("I see.")
    assert stored(alice)[0] == f"{LOG} and {RUNBOOK}" + "w" * 3_000
    assert alice.complaints == []


def test_a_refused_message_leaves_its_pastes_and_a_lost_answer_does_not_double_them(
    alice: Person, llm: LlmServer
) -> None:
    alice.begins()
    pastes(alice, "many words " * 9_000)
    alice.box.press("Enter")
    expect(alice.page.get_by_role("alert")).to_contain_text("Too long for scripted by about")
    expect(alice.box).to_have_value(MARKER)
    chips(alice).get_by_role("button", name="Remove").click()
    pastes(alice, LOG)
    alice.page.route("**/send", lambda route: (route.fetch(), route.abort()))
    alice.page.locator("#send").click()
    expect(alice.page.get_by_role("alert")).to_contain_text("Nothing is lost")
    expect(alice.box).to_have_value("[LongText#2]")
    alice.page.unroute("**/send")
    alice.is_answered("All right.")
    alice.page.locator("#send").click()
    expect(alice.box).to_have_value("")
    assert stored(alice) == [LOG, "All right."]


def test_files_are_picked_pasted_and_dropped_and_reach_the_model(alice: Person, llm: LlmServer, seeing: None) -> None:
    alice.begins()
    tray = chips(alice, "attachments")
    picked = [
        {"name": "the rack.png", "mimeType": "image/png", "buffer": png("teal")},
        {"name": "tool.exe", "mimeType": "application/octet-stream", "buffer": b"\0\1\2"},
    ]
    alice.page.locator("#files").set_input_files(picked)  # type: ignore[arg-type]
    expect(tray.get_by_role("alert")).to_contain_text("tool.exe This kind of file can't be read")
    alice.page.get_by_role("button", name="Dismiss").click()
    alice.page.evaluate(PASTES, {"image": list(png("maroon"))})
    alice.page.evaluate(DROPS, {"name": "notes.md", "text": "# Notes\n"})
    alice.page.evaluate(DROPS, {"name": "wrong.md", "text": "# Not this\n"})
    expect(tray.filter(has_text="tokens")).to_have_count(4)
    alice.page.get_by_role("button", name="Remove wrong.md").click()
    expect(tray).to_have_count(3)
    alice.page.reload()
    expect(tray).to_have_count(3)
    picture = tray.filter(has_text="the rack.png")
    tokens = int(picture.get_attribute("data-tokens") or 0)
    assert tokens >= 1_105, "in the model's own tokens, as on the meter"
    expect(picture).to_contain_text(f"{tokens:,} tokens")

    llm.enqueue("A rack, and something red.")
    alice.box.press_sequentially("what is this?")
    alice.box.press("Enter")
    alice.is_answered("A rack, and something red.")
    expect(tray).to_have_count(0)
    sent = json.dumps(llm.chats[-1].body["messages"][-1]["content"])
    assert sent.count("data:image/png;base64,") == 2 and "what is this?" in sent and "# Notes" in sent
    for _ in range(2):
        bubble = alice.page.locator(".message[data-role=user]")
        expect(bubble.get_by_role("img", name="the rack.png")).to_be_visible()
        expect(bubble.locator("details")).to_contain_text("notes.md")
        expect(bubble).not_to_contain_text("<file")
        alice.page.reload()
    assert alice.page.evaluate("[...document.images].every((image) => image.naturalWidth === 600)")
    alice.box.press("Enter")
    expect(bubble).to_have_count(1)
    assert all("400" in complaint for complaint in alice.complaints)  # of the file that was refused


def test_files_that_do_not_fit_together_are_named_before_and_after_sending(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    prose = "The ship sailed at dawn with a cargo of salt and rope. " * 330
    for name in ("first.txt", "second.txt"):
        file = {"name": name, "mimeType": "text/plain", "buffer": f"{name}: {prose}".encode()}
        alice.page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
        expect(alice.page.locator("#attachments .chip", has_text=name)).to_contain_text("tokens")
    expect(alice.page.locator("#too-long")).to_contain_text("These files are too long for this model by about")
    alice.says("Compare them.")
    refusal = alice.page.get_by_role("alert")
    for name in ("first.txt", "second.txt"):
        chip = alice.page.locator("#attachments .chip", has_text=name)
        tokens = f"{int(chip.get_attribute('data-tokens') or 0):,} tokens"
        expect(chip).to_contain_text(tokens)
        expect(refusal).to_contain_text(f"{name} ({tokens})")
    expect(alice.box).to_have_value("Compare them.")
    alice.page.get_by_role("button", name="Remove second.txt").click()
    expect(alice.page.locator("#too-long")).to_be_empty()
    llm.enqueue("One ship.")
    alice.box.press("Enter")
    alice.is_answered("One ship.")


def test_a_paste_too_long_for_a_message_becomes_a_file(at_site: Callable[..., Person], llm: LlmServer) -> None:
    alice = at_site(window=400_000)
    alice.sets_up()
    alice.begins()
    log = "12:00:01 INFO all is well\n" * 11_600
    pastes(alice, log)
    expect(alice.page.locator("#attachments .chip", has_text="Pasted text.txt")).to_contain_text("tokens")
    llm.enqueue("None.")
    alice.says("Which error comes first?")
    alice.is_answered("None.")
    assert str(llm.chats[-1].text).count("INFO all is well") == 11_600


def test_a_document_that_is_longer_than_the_window_goes_in_parts(alice: Person, llm: LlmServer) -> None:
    alice.begins()
    pages = [
        f"[Page {n}]\nHarbour {n} has {1_000 + n} moorings. " + "The tide comes twice a day. " * 40
        for n in range(1, 90)
    ]
    file = {"name": "harbours.md", "mimeType": "text/plain", "buffer": "\n".join(pages).encode()}
    alice.page.locator("#files").set_input_files(file)  # type: ignore[arg-type]
    expect(alice.page.locator("#too-long")).to_contain_text("harbours.md: longer than this model's window")
    llm.enqueue("It has 1,041.")
    alice.says("How many moorings has harbour 41?")
    alice.is_answered("It has 1,041.", seconds=60)
    expect(alice.page.locator("#attachments .chip")).to_have_count(0)
    assert "Harbour 41 has 1041 moorings." in llm.chats[-1].text
    expect(alice.page.locator(".compaction-divider")).to_have_count(1)
    alice.page.reload()
    expect(alice.replies.last).to_contain_text("It has 1,041.")
    assert alice.complaints == []
