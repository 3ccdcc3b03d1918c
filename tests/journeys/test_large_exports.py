"""The zip that ChatGPT hands out, with its images and sounds, comes in: the browser sends what is read of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from playwright.sync_api import expect

from tests.conversations.exports import chatgpt, told
from tests.journeys.site import Person

pytestmark = pytest.mark.browser


def export(path: Path, *, mebibytes: int) -> None:
    noise = os.urandom(1 << 20)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for number in range(mebibytes // 2):
            archive.writestr(f"file-{number:04}.dat", noise, compress_type=ZIP_STORED)
        for shard in range(2):
            talks = [
                chatgpt(told("user", f"Shard {shard}, question {number}"), conversation_id=f"c{shard}-{number}")
                for number in range(3)
            ]
            archive.writestr(f"export/conversations-{shard:03}.json", json.dumps(talks))
        for number in range(mebibytes // 2):
            archive.writestr(f"audio/sound-{number:04}.wav", noise, compress_type=ZIP_STORED)


def test_a_zip_of_80_megabytes_comes_in_where_a_request_has_at_most_25(alice: Person, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    export(path, mebibytes=80)
    alice.page.locator("#side input[name=file]").set_input_files(path)
    expect(alice.page.locator("#conversations .entry")).to_have_count(6, timeout=30_000)
    assert alice.complaints == []


def test_a_large_file_without_conversations_is_refused_with_its_reason(alice: Person, tmp_path: Path) -> None:
    path = tmp_path / "photos.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("a.dat", os.urandom(6 << 20))
    alice.page.locator("#side input[name=file]").set_input_files(path)
    expect(alice.page.locator("#alert")).to_contain_text("no conversations.json", timeout=20_000)
