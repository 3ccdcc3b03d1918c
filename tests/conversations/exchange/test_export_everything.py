"""A person takes all of their conversations along as one zip, which an import reads again."""

from __future__ import annotations

import io
import json
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync
from django.urls import reverse
from django.utils import timezone

from conversations import projects, saved_prompts
from conversations.exchange.export_all import everything
from conversations.exchange.imports import import_conversations
from conversations.messages.attachments import upload
from conversations.models import Attachment, Conversation, Message, User
from tests.conversations.chat import fill
from tests.conversations.pages import Pages
from tests.conversations.pictures import picture

pytestmark = pytest.mark.once


def zipped(user: User) -> tuple[ZipFile, list[bytes]]:
    async def collected() -> list[bytes]:
        return [piece async for piece in everything(user)]

    pieces = async_to_sync(collected)()
    return ZipFile(io.BytesIO(b"".join(pieces))), pieces


def test_everything_of_mine_is_in_it_and_nothing_else(user: User, conversation: Conversation) -> None:
    fill(conversation, 6)
    Conversation.objects.filter(pk=conversation.pk).update(title="Ports: ../of <all>")
    image = upload(conversation, name="a photo.png", data=picture())
    Attachment.objects.filter(pk=image.pk).update(message=Message.objects.filter(conversation=conversation).first())
    other = Conversation.objects.create(owner=user, archived=True)
    Conversation.objects.create(owner=user, title="gone", trashed_at=timezone.now())
    Conversation.objects.create(owner=User.objects.create_user("eve"), title="hers")
    saved_prompts.save(user, "Translate", "Into {{language}}")
    saved_prompts.save(User.objects.get(username="eve"), "Hers", "x")
    project = projects.create(user, name="Ports", instructions="Times are UTC.")
    Conversation.objects.filter(pk=conversation.pk).update(project=project)
    projects.create(User.objects.get(username="eve"), name="Hers")
    archive, pieces = zipped(user)
    assert archive.testzip() is None and len(pieces) > 2, "it is written piece by piece"
    assert sorted(archive.namelist()) == [
        "conversations.json",
        "images/0001-ports-of-all/001-a photo.png",
        "markdown/0001-ports-of-all.md",
        "markdown/0002-new-chat.md",
        "projects.json",
        "prompts.json",
    ]
    (listed,) = json.loads(archive.read("projects.json"))
    assert (listed["name"], listed["instructions"]) == ("Ports", "Times are UTC.")
    assert listed["conversations"] == [str(conversation.pk)]
    assert json.loads(archive.read("prompts.json")) == [{"name": "Translate", "text": "Into {{language}}"}]
    assert {one["conversation"]["id"] for one in json.loads(archive.read("conversations.json"))} == {
        str(conversation.pk),
        str(other.pk),
    }
    assert archive.read("images/0001-ports-of-all/001-a photo.png") == picture()


def test_an_import_reads_it_again(user: User, conversation: Conversation) -> None:
    fill(conversation, 6)
    said = list(conversation.messages.order_by("created_at").values_list("role", "content"))
    _, pieces = zipped(user)
    (copy,) = import_conversations(User.objects.create_user("eve"), b"".join(pieces))
    assert list(copy.messages.order_by("created_at").values_list("role", "content")) == said


def test_nobody_without_conversations_gets_an_empty_one(user: User) -> None:
    archive, _ = zipped(user)
    assert json.loads(archive.read("conversations.json")) == []


def test_the_page_offers_it_as_a_download(user: User) -> None:
    pages = Pages(user)
    assert reverse("export_everything") in pages.get("settings").content.decode()
    response = pages.get("export_everything")
    assert response["Content-Type"] == "application/zip" and "attachment" in response["Content-Disposition"]
    assert Pages().get("export_everything").status_code == 302
