from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from conversations.models import Conversation, User
from conversations.page.views.sidebar import LIMIT
from tests.conversations.exchange.test_exchange_archive import zipped
from tests.conversations.exports import chatgpt, claude, told, wrote
from tests.conversations.pages import Pages, elements

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def file_of(data: Any, name: str = "conversations.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data if isinstance(data, bytes) else json.dumps(data).encode())


def test_the_page_takes_json_and_zip_and_says_of_whom(pages: Pages) -> None:
    page = pages.get("import")
    accepted = {found["accept"] for found in elements(page).with_attribute("accept")}
    assert accepted == {".json,.jsonl,.zip,application/json,application/zip"}
    assert "ChatGPT, Claude" in page.content.decode()
    for name in ("home", "settings"):
        assert 'href="/import"' in pages.get(name).content.decode(), name


def test_many_conversations_are_counted_and_listed(pages: Pages) -> None:
    said = told("user", "a"), told("assistant", "b")
    talks = [chatgpt(*said, title=f"Talk {n}", conversation_id=f"c{n}") for n in "123"]
    answer = pages.post("import", file=file_of([*talks, claude(uuid="empty")])).json()
    first = Conversation.objects.get(title="Talk 1")
    assert answer == {
        "made": 3, "messages": 6, "updated": 0, "unchanged": 0, "skipped": 1, "unread": [], "place": f"/c/{first.pk}/",
    }  # fmt: skip
    html = pages.get("home").content.decode()
    assert all(f">Talk {n}<" in html for n in "123")
    again = pages.post("import", file=file_of([*talks, claude(uuid="empty")])).json()
    assert (again["made"], again["unchanged"], again["place"]) == (0, 3, "")


def test_a_zip_file_and_a_file_without_any_message(pages: Pages) -> None:
    payload = zipped(("conversations.json", [claude(wrote("1", "human", "hi"))]))
    answer = pages.post("import", file=file_of(payload, "data-2025-01-06.zip")).json()
    assert answer["place"] == f"/c/{Conversation.objects.get().pk}/"
    assert pages.post("import", file=file_of([claude(uuid="e")])).json()["skipped"] == 1


def test_what_is_wrong_is_said_with_its_place(pages: Pages) -> None:
    def complaint(data: Any) -> str:
        response = pages.post("import", file=file_of(data))
        assert response.status_code == 400 and not Conversation.objects.exists()
        return str(response.content.decode()).removeprefix("<p>").partition(" <button")[0]

    data = chatgpt(told("user", "a"))
    data["mapping"]["n0"] = 7
    assert complaint([data]) == "Mapping.n0: must be an object."
    assert complaint({"messages": [5]}) == "Messages[0]: must be an object."
    assert complaint(zipped(("chat.html", b"x"))) == "The zip file has no conversations.json."
    answer = pages.post("import", file=file_of([chatgpt(told("user", "a"), conversation_id="c0"), data])).json()
    (unread,) = answer["unread"]
    assert (unread["number"], unread["title"]) == (1, "Ports") and unread["reason"].startswith("mapping.n0:")


def test_conversations_of_one_date_are_all_in_the_list(pages: Pages, user: User) -> None:
    """A list that goes on before a date must not cut those of that date in two: a file may come in twice."""
    talks = [chatgpt(told("user", "a"), title=f"Talk {n}", conversation_id=f"c{n}") for n in range(LIMIT + 5)]
    pages.post("import", file=file_of(talks))
    listed = elements(pages.get("home")).with_attribute("id")
    assert sum(found["id"].startswith("entry-") for found in listed) == LIMIT + 5
