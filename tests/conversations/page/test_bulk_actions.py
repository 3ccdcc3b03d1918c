"""Several conversations of the list at once."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync

from conversations.models import Conversation, User
from tests.conversations.chat import fill
from tests.conversations.pages import Pages


@pytest.fixture
def three(user: User) -> list[Conversation]:
    return [Conversation.objects.create(owner=user, title=f"chat {number}") for number in range(3)]


def content(response: Any) -> bytes:
    async def collected() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    return async_to_sync(collected)()


def act(pages: Pages, name: str, *chosen: Any) -> Any:
    ids = [getattr(one, "pk", one) for one in chosen]
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/"}
    return pages.client.post("/several", {"act": name, "ids": ids}, headers=headers)


def test_chats_are_archived_and_taken_back_together(user: User, three: list[Conversation]) -> None:
    pages = Pages(user)
    assert act(pages, "archive", *three[:2])["HX-Refresh"] == "true"
    assert "2 chats moved to the archive." in pages.get("home").content.decode()
    assert Conversation.objects.filter(archived=True).count() == 2
    act(pages, "unarchive", three[0])
    assert list(Conversation.objects.filter(archived=True)) == [three[1]]


def test_chats_go_to_the_trash_together_and_each_can_be_taken_back(user: User, three: list[Conversation]) -> None:
    pages = Pages(user)
    address = act(pages, "trash", *three[1:])["HX-Redirect"]
    assert Conversation.objects.exclude(trashed_at=None).count() == 2
    html = pages.client.get(address).content.decode()
    assert html.count("Moved to the trash: ") == 2
    assert "chat 1" in html and "chat 2" in html


def test_a_page_of_an_archived_chat_goes_home(user: User, three: list[Conversation]) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/c/{three[0].pk}/"}
    form = {"act": "archive", "ids": [three[0].pk]}
    assert Pages(user).client.post("/several", form, headers=headers)["HX-Redirect"] == "/"


def test_chosen_chats_are_downloaded_as_one_zip(user: User, three: list[Conversation]) -> None:
    for chat in three:
        fill(chat, 2)
    response = Pages(user).client.get("/several/export", {"ids": [three[0].pk, three[2].pk]})
    names = ZipFile(io.BytesIO(content(response))).namelist()
    assert sorted(names) == ["conversations.json", "markdown/0001-chat-0.md", "markdown/0002-chat-2.md"]


@pytest.mark.parametrize(
    ("name", "ids"), [("burn", "own"), ("", "own"), ("trash", "none"), ("trash", "many"), ("trash", "bad")]
)
def test_what_is_wrong_is_refused_and_nothing_is_done(
    user: User, three: list[Conversation], name: str, ids: str
) -> None:
    chosen = {"own": three, "none": [], "many": [uuid4() for _ in range(101)], "bad": ["x"]}[ids]
    assert act(Pages(user), name, *chosen).status_code == 400
    assert Conversation.objects.filter(trashed_at=None, archived=False).count() == 3


def test_chats_of_others_are_left_alone(user: User, three: list[Conversation]) -> None:
    bob = Pages(User.objects.create_user("bob"))
    for name in ("archive", "trash"):
        act(bob, name, *three)
    assert Conversation.objects.filter(trashed_at=None, archived=False).count() == 3
    response = bob.client.get("/several/export", {"ids": [three[0].pk]})
    assert ZipFile(io.BytesIO(content(response))).namelist() == ["conversations.json"]
