"""Our own export has the files and pastes of its messages, and an import takes them as strictly as an upload."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from conversations.errors import Invalid
from conversations.exchange import attachments as files
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.messages import attachments
from conversations.messages.pastes import Pasted
from conversations.models import Attachment, Conversation, User
from conversations.requests import next_request
from conversations.runtime.payloads import message_json
from tests.conversations.messages.test_attachments import ask, conversation, profile, put, user
from tests.conversations.pictures import photograph, picture

__all__ = ["conversation", "profile", "user"]  # fixtures

FILES = st.lists(
    st.sampled_from(
        [
            ("a.txt", b"eins"),
            ("b <&>.md", "# Größe\n\n</file>\n".encode()),
            ("c.png", picture()),
            ("d.jpg", photograph()),
        ]
    ),
    unique=True,
    max_size=4,
)
WORDS = st.text(st.sampled_from("wort 8443.\n<>é😀"), min_size=1, max_size=40).filter(str.strip)


@hypothesis_settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(st.tuples(WORDS, FILES), min_size=1, max_size=3))
def test_whatever_files_and_pastes_there_are_they_come_back(conversation: Conversation, said: list[Any]) -> None:
    row = Conversation.objects.create(owner=conversation.owner, model=conversation.model)
    for words, chosen in said:
        rows = [put(row, data, name) for name, data in chosen]
        ask(row, words, *rows, pastes=[Pasted(7, len(words) // 2, len(words) - len(words) // 2)])
    back = imported(conversation.owner, exported(row))
    assert told(back) == told(row)
    assert next_request.preview(back) == next_request.preview(row)
    assert [*map(attachments.bytes_of, files_of(back))] == [*map(attachments.bytes_of, files_of(row))]


def files_of(row: Conversation) -> list[Attachment]:
    return list(Attachment.objects.filter(conversation=row).order_by("message__created_at", "created_at"))


def told(row: Conversation) -> list[Any]:
    """Messages with files and pastes, without their ids."""
    found = [message_json(message, row.window) for message in row.messages.order_by("created_at")]
    for message in found:
        del message["id"]
        for one in message["attachments"]:
            del one["id"]
    return found


def exported(row: Conversation) -> Any:
    return json.loads(json.dumps(as_json(Conversation.objects.select_related("model").get(pk=row.pk))))


def imported(user: User, data: Any) -> Conversation:
    (back,) = import_conversations(user, json.dumps(data).encode()).conversations
    return Conversation.objects.get(pk=back.pk)


@pytest.fixture
def file(conversation: Conversation) -> Any:
    """An export: a text file, and an image."""
    rows = put(conversation, "port = 8443", "billing.toml"), put(conversation, picture(), "rack.png")
    ask(conversation, "Which port?", *rows, pastes=[Pasted(1, 6, 4)])
    return exported(conversation)


@pytest.mark.parametrize(
    ("where", "change", "why"),
    [
        (0, {"start": 1_000}, "not where they are said"),
        (0, {"start": 3}, "start: must be a whole number from 27"),
        (0, {"length": 3}, "not where they are said"),
        (0, {"length": 2_000_000}, "length: must be"),
        (0, {"name": "other.toml"}, "not where they are said"),
        (0, {"name": "../x"}, "name: is not how"),
        (0, {"name": ""}, "name: must not be empty"),
        (0, {"kind": "film"}, "kind: must be one of"),
        (1, {"digest": "0" * 64}, "digest: is not that of its bytes"),
        (1, {"digest": "Z" * 64}, "digest: must be a SHA-256"),
        (1, {"data": "%%%"}, "data: must be base64"),
        (1, {"data": 3}, "data: must be base64"),
        (1, {"data": None, "size": 6_000_000}, "size: must be"),
        (1, {"data": None, "media_type": "image/svg+xml"}, "media_type: must be"),
        (1, {"data": b"port = 8443"}, "data: is no image"),
        (1, {"data": picture()[:60]}, "data: the image is damaged"),
        (1, {"data": picture(size=(9_000, 1))}, "8,000 pixels"),
        (1, {"data": photograph()}, "has more in it"),
    ],
)
def test_a_file_whose_attachments_do_not_hold_together_is_refused(
    file: Any, user: User, where: int, change: dict[str, Any], why: str
) -> None:
    if isinstance(data := change.get("data"), bytes):
        change = {"data": b64encode(data).decode(), "digest": sha256(data).hexdigest()}
    file["messages"][0]["attachments"][where] |= change
    before = Conversation.objects.count()
    with pytest.raises(Invalid) as refusal:
        import_conversations(user, json.dumps(file).encode())
    assert why in refusal.value.message and refusal.value.message.startswith("messages[0].attachments")
    assert (Conversation.objects.count(), Attachment.objects.count()) == (before, 2)


def test_pastes_and_files_out_of_place_are_refused(file: Any, user: User) -> None:
    for place, change in (
        ("pastes[0].start", {"pastes": [{"number": 1, "start": 12, "length": 1}]}),
        ("pastes[0].length", {"pastes": [{"number": 1, "start": 6, "length": 6}]}),
        ("pastes[0].number", {"pastes": [{"number": 0, "start": 6, "length": 4}]}),
        (
            "pastes[1].start",
            {"pastes": [{"number": 1, "start": 0, "length": 4}, {"number": 2, "start": 3, "length": 1}]},
        ),
        ("attachments", {"role": "assistant"}),
        ("attachments", {"attachments": file["messages"][0]["attachments"] * 6}),
        ("attachments", {"attachments": "all"}),
    ):
        other = file | {"messages": [file["messages"][0] | change, *file["messages"][1:]]}
        with pytest.raises(Invalid, match=f"messages.0..{place}".replace("[", ".").replace("]", ".")):
            import_conversations(user, json.dumps(other).encode())
    assert Conversation.objects.count() == 1


def test_an_image_without_its_bytes_comes_in_by_name(file: Any, user: User, conversation: Conversation) -> None:
    file["messages"][0]["attachments"][1]["data"] = None
    back = imported(user, file)
    assert told(back) == told(conversation)
    assert next_request.preview(back) == next_request.preview(conversation)
    image = back.attachments.get(kind="image")
    assert attachments.bytes_of(image) == b""


def test_a_file_of_an_older_version_or_another_form_has_no_files(file: Any, user: User) -> None:
    for data in (file | {"version": 2}, {"title": "Ports", "messages": file["messages"]}):
        back = imported(user, data)
        assert back.messages.filter(content__contains="port = 8443").exists()
        assert not back.attachments.exists() and not back.messages.filter(images__isnull=False).exists()


@pytest.mark.once
def test_an_export_has_the_bytes_of_the_latest_images_that_an_import_takes(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for colour in ("red", "green", "blue"):
        ask(conversation, colour, put(conversation, picture(colour=colour)))
    monkeypatch.setattr(files, "MAX_IMAGE_BYTES", 2 * len(picture(colour="red")) + 20)
    told = [entry["attachments"][0]["data"] for entry in exported(conversation)["messages"] if "attachments" in entry]
    assert [bool(data) for data in told] == [False, True, True]


@pytest.mark.once
def test_small_images_that_unpack_to_much_are_not_decoded_without_end(
    file: Any, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_PIXELS", 2 * 40 * 30)
    message, image = file["messages"][0], file["messages"][0]["attachments"][1]
    with_two = file | {"messages": [{**message, "content": "", "pastes": [], "attachments": [image] * 2}]}
    imported(user, with_two)
    for data in (file | {"messages": with_two["messages"] * 2}, [with_two, with_two]):
        with pytest.raises(Invalid, match="all images together have at most 2,400 pixels"):
            import_conversations(user, json.dumps(data).encode())


@pytest.mark.once
def test_an_export_has_no_more_pixels_than_an_import_takes(
    conversation: Conversation, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for colour in ("red", "green"):
        ask(conversation, colour, put(conversation, picture(colour=colour)))
    monkeypatch.setattr(files, "MAX_PIXELS", 40 * 30)
    back = imported(user, exported(conversation))
    assert [bool(attachments.bytes_of(row)) for row in files_of(back)] == [False, True]
