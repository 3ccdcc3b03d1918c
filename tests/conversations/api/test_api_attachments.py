"""Files of messages through the API."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from conversations.models import Attachment, Conversation, Message, ModelProfile, User
from tests.conversations.api_client import Api, refused
from tests.conversations.pictures import picture


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def path(conversation: Conversation) -> str:
    ModelProfile.objects.update(sees_images=True)
    return f"/api/conversations/{conversation.pk}/attachments"


def posted(api: Api, path: str, *files: tuple[str, bytes]) -> Any:
    return api.client.post(path, {"file": [SimpleUploadedFile(name, data, "text/html") for name, data in files]})


def test_a_file_is_uploaded_sent_read_and_told_with_its_message(
    api: Api, path: str, conversation: Conversation
) -> None:
    image = posted(api, path, ("rack.png", picture())).json()
    text = posted(api, path, ("<b>.html", b"<script>alert(1)</script>")).json()
    assert (image["kind"], image["width"], image["height"], image["start"]) == ("image", 40, 30, None)
    assert (text["kind"], text["media_type"], text["size"]) == ("text", "text/plain", 25)
    body = {"content": "What is it?", "attachments": [image["id"], text["id"]], "client_id": "c1"}
    sent = api.post(path.replace("attachments", "messages"), body)
    assert sent.status_code == 201
    question = sent.json()["user_message"]
    assert [one["id"] for one in question["attachments"]] == [image["id"], text["id"]]
    listed = api.get(path.replace("attachments", "messages")).json()["items"][0]
    assert (listed["attachments"], listed["pastes"]) == (question["attachments"], [])
    assert api.post(path.replace("attachments", "messages"), body).status_code == 200
    read = api.get(f"{path}/{image['id']}")
    assert (read.content, read["Content-Type"]) == (picture(), "image/png")
    assert read["Content-Disposition"].startswith("inline") and read["X-Content-Type-Options"] == "nosniff"
    read = api.get(f"{path}/{text['id']}")
    assert (read.content, read["Content-Type"]) == (b"<script>alert(1)</script>", "text/plain; charset=utf-8")
    assert read["Content-Disposition"].startswith("attachment") and "sandbox" in read["Content-Security-Policy"]
    refused(api.client.delete(f"{path}/{image['id']}"), 404, "not_found")
    context = api.get(f"/api/conversations/{conversation.pk}/context").json()
    assert context["messages"][1]["content"][1]["image_url"]["url"].startswith("attachment:")


def test_a_file_that_waits_can_be_removed(api: Api, path: str) -> None:
    row = posted(api, path, ("notes.txt", b"eins")).json()
    assert api.client.delete(f"{path}/{row['id']}").status_code == 204
    refused(api.client.delete(f"{path}/{row['id']}"), 404, "not_found")
    refused(api.get(f"{path}/{row['id']}"), 404, "not_found")
    assert not Attachment.objects.exists()


def test_what_is_no_file_is_refused(api: Api, path: str) -> None:
    for files in ((), (("a", b"eins"), ("b", b"zwei")), (("a", b""),), (("a", b"\0"),), (("a", bytes(5_000_001)),)):
        assert refused(posted(api, path, *files), 400, "invalid")["field"] == "file"
    refused(api.post(path, {"file": "eins"}), 415, "unsupported_media_type")
    refused(api.send("POST", path, b"", ""), 415, "unsupported_media_type")
    refused(api.send("POST", path, b"--x\r\nbroken", "multipart/form-data; boundary=x"), 400, "invalid")
    assert not Attachment.objects.exists()


def test_files_of_another_person_are_not_there(api: Api, path: str, conversation: Conversation) -> None:
    row = posted(api, path, ("notes.txt", b"eins")).json()
    other = Api(User.objects.create_user("bob"))
    for response in (
        posted(other, path, ("notes.txt", b"eins")),
        other.get(f"{path}/{row['id']}"),
        other.client.delete(f"{path}/{row['id']}"),
    ):
        refused(response, 404, "not_found")
    own = Conversation.objects.create(owner=User.objects.get(username="bob"), model=conversation.model)
    sent = other.post(f"/api/conversations/{own.pk}/messages", {"content": "look", "attachments": [row["id"]]})
    assert refused(sent, 400, "invalid")["field"] == "attachments"
    assert Attachment.objects.count() == 1 and not Message.objects.exists()
    assert Client().get(f"{path}/{row['id']}").status_code == 401


def test_a_message_names_files_by_their_ids(api: Api, path: str) -> None:
    messages = path.replace("attachments", "messages")
    for wrong in (["7"], "all", [3], [str(uuid4())], [str(uuid4()) for _ in range(11)]):
        assert refused(api.post(messages, {"content": "look", "attachments": wrong}), 400, "invalid")[
            "field"
        ].startswith("attachments")
    ModelProfile.objects.update(sees_images=False)
    image = posted(api, path, ("rack.png", picture())).json()
    sent = api.post(messages, {"content": "look", "attachments": [image["id"]]})
    assert refused(sent, 409, "model_sees_no_images")["model"] == "scripted"
    assert not Message.objects.exists()


@pytest.mark.once
def test_a_form_that_cannot_be_read_is_refused(api: Api, path: str) -> None:
    answer = api.client.post(path, b"file", content_type="multipart/form-data")
    assert refused(answer, 400, "invalid")["field"] == "file"
