"""Exports of real size come in: the browser reads the conversations of a file and sends them in parts."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.conversations.exports import chatgpt, gemini, grok, librechat, open_webui, told
from tests.journeys.site import Person

pytestmark = pytest.mark.browser


def talks(shard: int, count: int, *, words: int = 1) -> list[dict[str, Any]]:
    return [
        chatgpt(told("user", f"Shard {shard}, question {n}" + " words" * words), conversation_id=f"c{shard}-{n}")
        for n in range(count)
    ]


def export(path: Path, *, mebibytes: int) -> None:
    noise = os.urandom(1 << 20)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for number in range(mebibytes // 2):
            archive.writestr(f"file-{number:04}.dat", noise, compress_type=ZIP_STORED)
        for shard in range(2):
            archive.writestr(f"export/conversations-{shard:03}.json", json.dumps(talks(shard, 3)))
        for number in range(mebibytes // 2):
            archive.writestr(f"audio/sound-{number:04}.wav", noise, compress_type=ZIP_STORED)


def complaints(alice: Person) -> list[str]:
    """The console's errors, except a busy site's: the page sends a part that it refused once more."""
    return [line for line in alice.complaints if "503" not in line]


def chooses(alice: Person, *paths: Path) -> None:
    alice.page.goto(f"{alice.site.url}/import")
    alice.page.locator("#import-files").set_input_files(paths)


def test_a_zip_of_80_megabytes_comes_in_where_a_request_has_at_most_25(alice: Person, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    export(path, mebibytes=80)
    chooses(alice, path)
    report = alice.page.locator("#import-report")
    expect(report).to_contain_text("6 conversations came in, with 6 messages.", timeout=30_000)
    expect(alice.page.locator("#conversations .entry")).to_have_count(6)
    chooses(alice, path)
    expect(report).to_contain_text("0 conversations came in, with 0 messages. 6 were here already.", timeout=30_000)
    with ZipFile(outer := tmp_path / "outer.zip", "w") as archive:
        archive.write(path, "User Online Activity/export.zip", compress_type=ZIP_STORED)
        archive.writestr("readme.txt", "x")
    chooses(alice, outer)
    expect(report).to_contain_text("6 were here already.", timeout=30_000)
    assert complaints(alice) == []


def test_a_file_of_40_megabytes_is_cancelled_and_goes_on_and_names_what_it_cannot_read(
    alice: Person, tmp_path: Path
) -> None:
    page, path = alice.page, tmp_path / "conversations.json"
    odd: list[Any] = [7, chatgpt(told("user", "x"), title="Broken") | {"mapping": {"n0": 5}}]
    path.write_text(json.dumps([*talks(0, 120, words=30_000), *odd, *talks(1, 120, words=30_000)]))
    chooses(alice, path)
    expect(page.locator("#importing")).to_contain_text("so far")
    expect(page.locator("#importing")).not_to_contain_text(" 0 so far", timeout=60_000)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#import-report")).to_contain_text("Cancelled. Choose the same file to go on.")
    came = int(str(page.locator("#import-report p").text_content()).split("go on. ")[1].split()[0])
    assert 0 < came < 240
    page.locator("#import-files").set_input_files(path)
    report = page.locator("#import-report")
    expect(report).to_be_hidden()
    expect(report).to_contain_text("were here already", timeout=90_000)
    now, _, again = str(report.locator("p").text_content()).partition(" conversations came in")
    assert int(now) + int(again.split("messages. ")[1].split()[0]) == 240
    named = report.locator("#import-unread li")
    expect(named).to_have_count(2)
    expect(named.first).to_contain_text("conversations.json, conversation 121: ")
    expect(named.last).to_contain_text("conversations.json, conversation 122 (Broken): mapping.n0")
    assert [line for line in complaints(alice) if "400" not in line] == []


def test_the_exports_of_other_sites_come_in_as_they_were_downloaded(alice: Person, tmp_path: Path) -> None:
    webui, libre = tmp_path / "chat-export-1.json", tmp_path / "librechat.json"
    webui.write_text(json.dumps([open_webui({"id": "q", "role": "user", "content": "In Open WebUI?"})]))
    libre.write_text(json.dumps(librechat({"text": "In LibreChat?"}, {"text": "Yes."})))
    talks = [
        grok({"message": f"In Grok, {n}? " + "words " * 5_000}) | {"conversation": {"id": f"g{n}"}} for n in range(900)
    ]
    with ZipFile(xai := tmp_path / "grok.zip", "w", ZIP_DEFLATED) as archive:  # 27 MB in one object
        content = json.dumps({"conversations": talks, "projects": [{"a": "]"}], "tasks": []})
        archive.writestr("ttl/30d/export_data/someone/prod-grok-backend.json", content)
    with ZipFile(takeout := tmp_path / "takeout.zip", "w") as archive:
        activities = [gemini(f"Prompted In Gemini, {n}?", "<p>Yes.</p>", f"2025-01-0{9 - n}T09:00:00Z") for n in (1, 2)]
        archive.writestr("Takeout/Mon activité/Applications Gemini/MonActivité.json", json.dumps(activities))
        archive.writestr("Takeout/Mon activité/Recherche/MonActivité.json", "[]")
    chooses(alice, webui, libre, xai, takeout)
    report = alice.page.locator("#import-report")
    expect(report).to_contain_text("904 conversations came in, with 907 messages.", timeout=60_000)
    expect(alice.page.locator("#import-unread li")).to_have_count(0)
    assert complaints(alice) == []


def test_the_images_of_an_export_come_in_with_the_messages_that_show_them(alice: Person, tmp_path: Path) -> None:
    def asked(number: int, *shown: str) -> dict[str, Any]:
        parts = [{"content_type": "image_asset_pointer", "asset_pointer": f"file-service://{id}"} for id in shown]
        attached = [{"id": id, "name": f"{id}.png", "mime_type": "image/png"} for id in shown]
        message = told("user", *parts, f"Look, {number}.", metadata={"attachments": attached})
        return chatgpt(message, told("assistant", "I see."), conversation_id=f"i{number}")

    made = BytesIO()
    Image.effect_noise((1500, 1500), 90).save(made, "PNG")  # 2 MB: a part has room for some of them only
    with ZipFile(path := tmp_path / "export.zip", "w") as archive:
        for number in range(12):
            archive.writestr(f"file-A{number}-photo {number}.png", made.getvalue())
        archive.writestr("file-B1-broken.png", b"no image")
        talks = [
            *(asked(n, f"file-A{2 * n}", f"file-A{2 * n + 1}") for n in range(6)),
            asked(7, "file-B1", "file-gone"),
        ]
        archive.writestr("conversations.json", json.dumps(talks))
    chooses(alice, path)
    report = alice.page.locator("#import-report")
    expect(report).to_contain_text("7 conversations came in, with 14 messages.", timeout=60_000)
    expect(alice.page.locator("#import-unread li")).to_have_count(0)
    with closing(sqlite3.connect(alice.site.data / "chatsite.sqlite3")) as database:
        own = "SELECT c.id FROM conversations_conversation c JOIN auth_user u ON u.id = c.owner_id WHERE u.username = ?"
        images = f"SELECT name FROM conversations_attachment WHERE kind = 'image' AND conversation_id IN ({own})"
        rows = database.execute(images, (alice.name,)).fetchall()
        words = (
            f"SELECT content FROM conversations_message WHERE content LIKE '%Look, 7%' AND conversation_id IN ({own})"
        )
        text = database.execute(words, (alice.name,)).fetchone()
    assert sorted(name for (name,) in rows) == sorted(f"file-A{number}.png" for number in range(12))
    assert text == ("[Image: file-B1.png]\n[Image: file-gone.png]\nLook, 7.",)
    assert complaints(alice) == []


def test_a_large_file_without_conversations_is_refused_with_its_reason(alice: Person, tmp_path: Path) -> None:
    path, text = tmp_path / "photos.zip", tmp_path / "notes.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("a.dat", os.urandom(6 << 20))
    text.write_text("no zip")
    chooses(alice, path, text)
    unread = alice.page.locator("#import-unread")
    expect(unread).to_contain_text("photos.zip: The zip file has no conversations.json.", timeout=20_000)
    expect(unread).to_contain_text("notes.zip: This zip file cannot be read.")


def test_who_is_signed_out_is_told_so(alice: Person, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks(0, 3)))
    alice.page.goto(f"{alice.site.url}/import")
    alice.page.context.clear_cookies(name="sessionid")
    alice.page.locator("#import-files").set_input_files(path)
    expect(alice.page.locator("#import-unread")).to_contain_text("You are signed out.")


SPLIT = """async ([address, texts, size]) => {
    const { values } = await import(address);
    const found = [];
    for (const text of texts) {
        const bytes = new TextEncoder().encode(text), all = [];
        const stream = new ReadableStream({ start(to) {
            for (let at = 0; at < bytes.length; at += size) to.enqueue(bytes.slice(at, at + size));
            to.close();
        } });
        for await (const value of values(stream)) all.push((await value.text()).trim());
        found.push(all);
    }
    return found;
}"""


def texts() -> Iterator[tuple[str, list[str]]]:
    values = [{"a": 'x"]},[{\\'}, ["[", {"b": 'é\\"'}], 7, "a,b", None, {}, []]
    yield json.dumps(values), [json.dumps(one) for one in values]
    yield "\ufeff [ ]", []
    yield '{"a": [1, 2]}', ['{"a": [1, 2]}']
    yield "no json", ["no json"]
    yield '[{"a": 1}, {"b', ['{"a": 1}', '{"b']
    yield "", []


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_a_list_is_taken_apart_wherever_its_pieces_end(alice: Person, size: int) -> None:
    alice.page.goto(f"{alice.site.url}/import")
    address = alice.page.evaluate("[...document.scripts].find((one) => one.src.includes('/import')).src")
    address = address.rpartition("/")[0] + "/importing.js"
    given = dict(texts())
    found = alice.page.evaluate(SPLIT, [address, [*given], size])
    assert found == [*given.values()]


def test_a_list_of_messages_is_one_chat_however_many_they_are(alice: Person, tmp_path: Path) -> None:
    listed, lines = tmp_path / "messages.json", tmp_path / "messages.jsonl"
    said = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(700)]
    listed.write_text(json.dumps(said, indent=1))
    lines.write_text("\n".join(map(json.dumps, said)))
    for path in (listed, lines):
        chooses(alice, path)
        expect(alice.page.get_by_text("message 699", exact=True)).to_be_visible(timeout=30_000)
        id = alice.page.url.rstrip("/").rpartition("/")[2].replace("-", "")
        with closing(sqlite3.connect(alice.site.data / "chatsite.sqlite3")) as database:
            counted = database.execute("select count(*) from conversations_message where conversation_id = ?", (id,))
            assert counted.fetchone() == (700,)
    assert complaints(alice) == []
