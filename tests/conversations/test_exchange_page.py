from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from conversations.models import Conversation
from conversations.page.views.sidebar import LIMIT
from tests.conversations.exports import chatgpt, claude, told, wrote
from tests.conversations.pages import Pages, elements
from tests.conversations.test_exchange_archive import zipped

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def file_of(data: Any, name: str = "conversations.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data if isinstance(data, bytes) else json.dumps(data).encode())


def test_the_page_takes_json_and_zip_and_says_of_whom(pages: Pages) -> None:
    page = pages.get("home")
    accepted = {found["accept"] for found in elements(page).with_attribute("accept")}
    assert accepted == {".json,.zip,application/json,application/zip"}
    assert "Our JSON, or ChatGPT's or Claude's export: .json or .zip" in page.content.decode()


def test_many_conversations_are_counted_and_listed(pages: Pages) -> None:
    said = told("user", "a"), told("assistant", "b")
    talks = [chatgpt(*said, title=f"Talk {n}", conversation_id=f"c{n}") for n in "123"]
    response = pages.post("import", file=file_of([*talks, claude(uuid="empty")]))
    assert response.headers["HX-Redirect"] == "/"
    html = pages.get("home").content.decode()
    assert "3 conversations came in, with 6 messages. 1 without a message was left out." in html
    assert all(f">Talk {n}<" in html for n in "123")
    assert "came in" not in pages.get("home").content.decode(), "it is said once"


def test_a_zip_file_with_one_conversation_opens_it(pages: Pages) -> None:
    payload = zipped(("conversations.json", [claude(wrote("1", "human", "hi"))]))
    response = pages.post("import", file=file_of(payload, "data-2025-01-06.zip"))
    assert response.headers["HX-Redirect"] == f"/c/{Conversation.objects.get().pk}/"


def test_a_file_without_any_message_says_so(pages: Pages) -> None:
    assert pages.post("import", file=file_of([claude(uuid="e")])).headers["HX-Redirect"] == "/"
    html = pages.get("home").content.decode()
    assert "0 conversations came in, with 0 messages. 1 without a message was left out." in html


def test_what_is_wrong_is_said_with_its_place(pages: Pages) -> None:
    def complaint(data: Any) -> str:
        response = pages.post("import", file=file_of(data))
        assert response.status_code == 400 and not Conversation.objects.exists()
        return str(response.content.decode()).removeprefix("<p>").partition(" <button")[0]

    data = chatgpt(told("user", "a"))
    data["mapping"]["n0"] = 7
    assert complaint([data]) == "Nothing came in. Conversation 1 of the file: mapping.n0: must be an object."
    assert complaint({"messages": [5]}) == "Nothing came in. Messages[0]: must be an object."
    assert complaint(zipped(("chat.html", b"x"))) == "Nothing came in. The zip file has no conversations.json."
    assert (
        pages.post("import", file=file_of([chatgpt(told("user", "a"), conversation_id="c0"), data])).status_code == 200
    )
    html = pages.get("home").content.decode()
    assert "1 conversation came in, with 1 message. Conversation 2 of the file (Ports) did not: mapping.n0:" in html


def test_conversations_of_one_date_are_all_in_the_list(pages: Pages, user: User) -> None:
    """A list that goes on before a date must not cut those of that date in two: a file may come in twice."""
    talks = [chatgpt(told("user", "a"), title=f"Talk {n}", conversation_id=f"c{n}") for n in range(LIMIT + 5)]
    pages.post("import", file=file_of(talks))
    listed = elements(pages.get("home")).with_attribute("id")
    assert sum(found["id"].startswith("entry-") for found in listed) == LIMIT + 5
