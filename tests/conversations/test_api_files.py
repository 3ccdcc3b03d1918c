from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from conversations.models import Conversation
from tests.conftest import DATA
from tests.conversations.api import Api, refused

ALL = "/api/conversations"


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


def file_of(*contents: str) -> bytes:
    return json.dumps({"title": "Ports", "messages": [{"role": "user", "content": text} for text in contents]}).encode()


def test_an_import_tells_what_it_made(api: Api) -> None:
    response = api.send("POST", f"{ALL}/import", file_of("a", "b"))
    assert response.status_code == 201
    (told,) = response.json()["conversations"]
    assert (told["title"], told["messages"]) == ("Ports", 2)
    assert len(api.get(f"{ALL}/{told['id']}/messages").json()["items"]) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not valid JSON"),
        (file_of("a")[:-3], "not valid JSON"),
        (file_of("a", "b\0"), "messages[1].content"),
        (b'{"format": "chatsite", "version": 9}', "newer version (9)"),
        (b'[{"mapping": {"a": 1}}]', "[0].mapping.a: must be an object"),
    ],
)
def test_a_faulty_file_is_400_and_leaves_nothing(api: Api, body: bytes, message: str) -> None:
    assert message in refused(api.send("POST", f"{ALL}/import", body), 400, "invalid")["message"]
    assert not Conversation.objects.exists()


def test_an_export_can_be_posted_back(api: Api) -> None:
    first = api.send("POST", f"{ALL}/import", file_of("a", "b")).json()["conversations"][0]
    exported = api.get(f"{ALL}/{first['id']}/export")
    assert exported["Content-Disposition"] == f'attachment; filename="conversation-{first["id"]}.json"'

    second = api.send("POST", f"{ALL}/import", exported.content).json()["conversations"][0]
    assert second["id"] != first["id"]
    assert (second["title"], second["messages"]) == ("Ports", 2)


def test_the_markdown_export_begins_with_the_title(api: Api) -> None:
    row = api.send("POST", f"{ALL}/import", file_of("Which port?")).json()["conversations"][0]
    response = api.get(f"{ALL}/{row['id']}/export", format="md")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert response["Content-Disposition"].endswith('.md"')
    text = response.content.decode()
    assert text.startswith("# Ports\n\n- Started: ")
    assert "Which port?" in text
    refused(api.get(f"{ALL}/{row['id']}/export", format="pdf"), 400, "invalid")


def test_a_real_conversation_goes_through_the_api(api: Api) -> None:
    file = DATA / "locomo" / "41.json"
    if not file.exists():
        pytest.skip(f"{file} is not there: the real conversations are kept beside the checkout")
    (told,) = api.send("POST", f"{ALL}/import", file.read_bytes()).json()["conversations"]
    assert told["messages"] == 663

    said: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get(f"{ALL}/{told['id']}/messages", limit=200, **cursor).json()
        said += [(item["name"], item["content"]) for item in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert said == [(m["name"], m["content"]) for m in json.loads(file.read_text())["messages"]]
