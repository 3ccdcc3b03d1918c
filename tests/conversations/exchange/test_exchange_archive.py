from __future__ import annotations

import io
import json
import tracemalloc
import warnings
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image

from conversations.errors import Invalid
from conversations.exchange import zip_files
from conversations.exchange.imports import Imported, import_conversations
from conversations.models import Attachment, Conversation, User
from tests.conversations.exports import chatgpt, claude, told, wrote

pytestmark = [pytest.mark.django_db, pytest.mark.once]

TALK = chatgpt(told("user", "hi"))


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def zipped(*members: tuple[str, Any], method: int = ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), ZipFile(file, "w", method) as made:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            made.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return file.getvalue()


def taken(user: User, payload: bytes) -> Imported:
    return import_conversations(user, payload)


def refusal(user: User, payload: bytes) -> str:
    with pytest.raises(Invalid) as refused:
        taken(user, payload)
    assert not Conversation.objects.exists()
    return refused.value.message


@pytest.mark.parametrize(
    "payload",
    [
        zipped(("conversations.json", [TALK]), ("chat.html", b"<html>"), ("user.json", {"email": "ada@example.org"})),
        zipped(("export/conversations.json", [TALK]), ("__MACOSX/export/._conversations.json", b"\0")),
        zipped(("conversations.json", [claude(wrote("1", "human", "hi"))]), ("memories.json", []), method=ZIP_STORED),
        zipped(("conversations.json", json.dumps([TALK]).encode("utf-16"))),
        zipped(("conversations.json", [TALK]), ("conversations-000.json", [TALK, TALK])),
    ],
    ids=["among others", "in a folder", "stored", "UTF-16", "beside its parts"],
)
def test_the_conversations_of_a_zip_file_come_in_and_nothing_else_of_it(ada: User, payload: bytes) -> None:
    (row,) = taken(ada, payload)
    assert row.messages.get().content == "hi"


def test_conversations_in_several_parts_come_in_in_order(ada: User) -> None:
    parts = [
        (f"conversations-{part:03}.json", [chatgpt(told("user", f"{part}"), conversation_id=f"c{part}")])
        for part in (10, 0, 1)
    ]
    assert [row.messages.get().content for row in taken(ada, zipped(*parts))] == ["0", "1", "10"]
    twice = [(name, [TALK]) for name, _ in parts]
    imported = taken(ada, zipped(*twice))
    assert [one.reason for one in imported.unread] == ["id: the conversation id 'c1' appears twice."] * 2


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../b", "/etc/passwd", "C:\\evil", "..\\evil", "\\\\host\\share", "a/.."]
)
def test_a_zip_file_with_a_member_outside_of_its_folder_is_refused(ada: User, name: str) -> None:
    message = refusal(ada, zipped(("conversations.json", [TALK]), (name, b"x")))
    assert "a member that would be outside of its folder" in message


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (zipped(), "the zip file has no conversations.json"),
        (zipped(("chat.html", b"x"), ("CONVERSATIONS.txt", b"x")), "the zip file has no conversations.json"),
        (zipped(("inner.zip", zipped(("conversations.json", [TALK])))), "the zip file has no conversations.json"),
        (
            zipped(("a/conversations.json", []), ("b/conversations.json", [])),
            "has two: a/conversations.json, b/conversations.json",
        ),
        (
            zipped(("conversations.json", []), ("conversations.json", [])),
            "has two: conversations.json, conversations.json",
        ),
        (zipped(("conversations.json", b"{")), "not valid JSON"),
        (zipped(("conversations.json", zipped(("conversations.json", [TALK])))), "not UTF-8 text"),
        (zipped(("conversations.json", [TALK]), method=ZIP_BZIP2), "is packed in a way that is not read here"),
        (zipped(("conversations.json", [TALK]))[:-30], "damaged or cut off"),
        (zipped(("conversations.json", [TALK]))[:60], "damaged or cut off"),
        (b"PK\x03\x04", "damaged or cut off"),
    ],
    ids=range(11),
)
def test_a_zip_file_that_cannot_be_read_is_refused_and_says_why(ada: User, payload: bytes, words: str) -> None:
    assert words in refusal(ada, payload)


def with_flag(payload: bytes, *, encrypted: int) -> bytes:
    """The same, with the flags of its only member changed in both of its headers."""
    changed = bytearray(payload)
    changed[6] |= encrypted
    changed[payload.index(zip_files.ENTRY) + 8] |= encrypted
    return bytes(changed)


def test_an_encrypted_member_is_refused(ada: User) -> None:
    payload = with_flag(zipped(("conversations.json", [TALK])), encrypted=zip_files.ENCRYPTED)
    assert "conversations.json: is encrypted" in refusal(ada, payload)


def test_a_flipped_byte_is_found(ada: User) -> None:
    payload = bytearray(zipped(("conversations.json", [TALK]), method=ZIP_STORED))
    payload[payload.index(b'"hi"') + 1] ^= 1
    assert "damaged or cut off" in refusal(ada, bytes(payload))


def test_a_bomb_is_refused_before_it_is_unpacked(ada: User) -> None:
    bomb = zipped(("conversations.json", b" " * 90_000_000))
    tracemalloc.start()
    assert "is packed more than 100 times" in refusal(ada, bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_member_that_declares_too_much_is_refused(ada: User, monkeypatch: Any) -> None:
    monkeypatch.setattr(zip_files, "MAX_BYTES", 1_000)
    two = [(f"conversations-{part}.json", [chatgpt(told("user", "x" * 400))]) for part in (0, 1)]
    assert "at most 1,000 bytes when it is unpacked, not 1," in refusal(ada, zipped(*two))


def test_a_member_that_is_larger_than_it_declares_is_refused(ada: User) -> None:
    """A bomb that lies: nothing is read beyond the size that was declared."""
    payload = zipped(("conversations.json", b"[" + b" " * 5_000_000 + b"]"))
    declared = (5_000_002).to_bytes(4, "little")
    lying = payload.replace(declared, (2_000).to_bytes(4, "little"))
    assert lying.count((2_000).to_bytes(4, "little")) >= 2
    tracemalloc.start()
    assert "damaged or cut off" in refusal(ada, lying)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_a_zip_file_of_very_many_members_is_refused(ada: User) -> None:
    payload = zipped(*((f"{n}", b"") for n in range(10_001)))
    assert "at most 10,000 members" in refusal(ada, payload)


def picture(side: int = 8, kind: str = "PNG") -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(made, kind)
    return made.getvalue()


def showing(*ids: str, role: str = "user") -> dict[str, Any]:
    parts = [{"content_type": "image_asset_pointer", "asset_pointer": f"file-service://{id}"} for id in ids]
    return told(role, *parts, "Look.")


def test_the_images_of_a_person_s_messages_come_in_and_others_by_name(ada: User) -> None:
    talk = chatgpt(
        showing("file-A1", "file_00b2", "file-Gone"), showing("file-A1", role="assistant"), showing("file-Bad"),
        showing(*(["file-A1"] * 12)),
    )  # fmt: skip
    payload = zipped(
        ("conversations.json", [talk]), ("dalle/file-A1-a red map.png", picture()),
        ("u/file_00b2.jpg", picture(9, "JPEG")), ("file-Bad-x.png", b"no image"), ("file-Unasked-x.png", picture()),
    )  # fmt: skip
    (row,) = taken(ada, payload)
    contents = list(row.messages.order_by("created_at").values_list("content", flat=True))
    assert contents == [
        "[Image: file-Gone]\nLook.", "[Image: file-A1]\nLook.", "[Image: file-Bad]\nLook.",
        "[Image: file-A1]\n[Image: file-A1]\nLook.",
    ]  # fmt: skip
    images = Attachment.objects.filter(conversation=row).order_by("created_at")
    assert [one.name for one in images] == ["file-A1", "file_00b2", *["file-A1"] * 10]
    assert [one.media_type for one in images][:2] == ["image/png", "image/jpeg"]
    assert row.messages.earliest("created_at").token_count > 2 * 1_000
    assert taken(ada, payload).unchanged == 1 and images.count() == 12


def test_images_that_a_page_sends_beside_must_have_their_sizes(client: Client, user: User) -> None:
    def sent(sizes: str, images: bytes) -> Any:
        file = SimpleUploadedFile("conversations.json", json.dumps([chatgpt(showing("file-A1"))]).encode())
        form = {"file": file, "sizes": sizes, "images": SimpleUploadedFile("images", images)}
        return client.post("/import", form, HTTP_HX_REQUEST="true")

    client.force_login(user)
    data = picture()
    for sizes in ("[1]", '{"file-A1": "9"}', f'{{"file-A1": {len(data) + 1}}}', '{"file-A1": -1}', '{"file-A1": true}'):
        answer = sent(sizes, data)
        assert b"Sizes:" in answer.content and not Conversation.objects.filter(owner=user).exists(), sizes
    assert sent(json.dumps({"file-A1": len(data)}), data).json()["made"] == 1
    assert Attachment.objects.get(conversation__owner=user).width == 8
