from __future__ import annotations

import json
from typing import Any

import pytest

from conversations.models import Conversation, User
from tests.conftest import DATA
from tests.conversations.api_client import Api, refused
from tests.conversations.exchange.test_exchange_archive import zipped
from tests.conversations.exports import chatgpt, claude, told, wrote

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


def test_an_import_of_many_tells_of_each_in_the_order_of_the_file(api: Api) -> None:
    talks = [chatgpt(told("user", str(n)), title=f"Talk {n}", conversation_id=f"c{n}") for n in range(3)]
    empty = claude(uuid="empty")
    answer = api.send("POST", f"{ALL}/import", json.dumps([*talks, empty]).encode()).json()
    assert [(row["title"], row["messages"]) for row in answer["conversations"]] == [(f"Talk {n}", 1) for n in range(3)]
    assert answer["skipped"] == 1
    assert {row["id"] for row in answer["conversations"]} == {str(row.pk) for row in Conversation.objects.all()}


def test_a_zip_file_is_taken_as_it_was_handed_out(api: Api) -> None:
    payload = zipped(("conversations.json", [claude(wrote("1", "human", "hi"))]))
    response = api.send("POST", f"{ALL}/import", payload, "application/zip")
    assert response.status_code == 201
    (row,) = response.json()["conversations"]
    assert (row["title"], row["messages"]) == ("Ports", 1)


def test_another_type_of_body_is_415(api: Api) -> None:
    detail = refused(api.send("POST", f"{ALL}/import", file_of("a"), "text/plain"), 415, "unsupported_media_type")
    assert "application/json or application/zip" in detail["message"]


def test_an_owner_in_a_file_is_ignored(api: Api, user: User) -> None:
    eve = User.objects.create_user("eve")
    data = json.loads(file_of("a")) | {"owner": "eve", "owner_id": eve.pk, "user": eve.pk}
    assert api.send("POST", f"{ALL}/import", json.dumps(data).encode()).status_code == 201
    assert Conversation.objects.get().owner == user


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
