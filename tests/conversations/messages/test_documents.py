"""Documents are read by what they are, in a process with limits; a message has their text, with its pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from conversations.errors import Invalid
from conversations.exchange.exports import as_json
from conversations.exchange.imports import import_conversations
from conversations.messages import documents as reader
from conversations.messages.attachments import upload
from conversations.messages.documents import kind_of, read_document
from conversations.models import Attachment, Conversation, User
from conversations.templatetags.files import extent
from tests.conversations import documents
from tests.conversations.chat import Chat

PDF = documents.pdf("The zebra listens on 7781.\nAnother line.", "Page two has the gnu.")
EACH: dict[str, tuple[bytes, int | None, list[str]]] = {
    "pdf": (PDF, 2, ["[Page 1]", "The zebra listens on 7781.", "[Page 2]", "Page two has the gnu."]),
    "docx": (documents.docx(), None, ["# Ports of the Billing Service", "gnu | 7782", "- Öl, 港口, порт."]),
    "pptx": (documents.pptx(), 2, ["[Slide 1]", "The zebra listens on 7781", "Notes: Say it slowly.", "[Slide 2]"]),
    "xlsx": (documents.xlsx(), 2, ["[Sheet Ports]", "zebra | 7781", "[Sheet More]", "total | 2.5"]),
    "odt": (documents.odt(), None, ["## Ports", "The zebra listens on 7781.", "gnu | 7782"]),
    "ods": (documents.ods(), 1, ["[Sheet Ports]", "zebra | 7781"]),
    "epub": (documents.epub(), None, ["One", "The zebra listens on 7781.", "Two"]),
    "rtf": (documents.RTF, None, ["The zebra listens on 7781. Öl."]),
    "eml": (documents.EML, None, ["Subject: Öl and ports", "The zebra listens on", "[Attached, not read: plan.txt]"]),
}


@pytest.mark.parametrize("kind", EACH)
def test_each_kind_is_read_in_order(kind: str) -> None:
    data, pages, lines = EACH[kind]
    read = read_document(data, kind_of(data))
    assert (read.kind, read.pages) == (kind, pages)
    places = [read.text.find(line) for line in lines]
    assert -1 not in places and places == sorted(places), read.text
    assert "alert" not in read.text and "secret" not in read.text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (documents.pdf(""), "has no text: its pages are pictures"),
        (documents.pdf("secret", encrypt=True), "encrypted"),
        (b"%PDF-1.7\nnonsense", "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Office format"),
        (documents.zipped({"a.txt": "hello"}), "this kind of file can't be read"),
        (b"PK\x03\x04" + bytes(60), "this kind of file can't be read"),
        (documents.zipped({"word/document.xml": "<broken"}), "damaged"),
        (documents.open_document("text", "<office:text/>"), "has no text"),
        (
            documents.open_document("text", "<office:text><text:p>" + "a" * 1_100_000 + "</text:p></office:text>"),
            "1 MB",
        ),
        (b"{\\rtf1 }", "has no text"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=said) as refused:
        read_document(data, kind_of(data))
    assert refused.value.detail["field"] == "file"


def test_a_document_that_unpacks_to_more_than_200_megabytes_is_refused() -> None:
    data = documents.zipped({"word/document.xml": bytes(250_000_000)})
    with pytest.raises(Invalid, match="unpacks to more than 200 MB") as refused:
        read_document(data, kind_of(data))
    assert refused.value.detail["field"] == "file"


def test_entities_and_addresses_of_a_document_stay_unread(tmp_path: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    content = (
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}"><!ENTITY y "{"yes " * 99}">]>'
        "<office:document-content xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' "
        "xmlns:text='urn:oasis:names:tc:opendocument:xmlns:text:1.0'><office:body><office:text>"
        "<text:p>before &x; after</text:p></office:text></office:body></office:document-content>"
    )
    data = documents.zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})
    assert "the secret" not in read_document(data, kind_of(data)).text


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    many = documents.pdf(*["x"] * (reader.MAX_PAGES + 1))
    with pytest.raises(Invalid, match="at most 3,000 pages, not 3,001"):
        read_document(many, "pdf")


@pytest.mark.parametrize(
    "data", [b"just text", b"<html><p>hi</p></html>", b"From here on: a\nTo do: b\nDate: c\nno mail", b"a,b\n1,2"]
)
def test_text_stays_text(data: bytes) -> None:
    assert kind_of(data) == ""


def test_an_ascii_pdf_is_no_text_file(conversation: Conversation) -> None:
    row = upload(conversation, name="plan.pdf", data=PDF)
    assert (row.kind, row.media_type, row.pages, extent(row)) == ("text", "application/pdf", 2, "2 pages")
    again = upload(conversation, name="plan.pdf", data=PDF)
    assert again.pk == row.pk


async def test_the_model_reads_the_pages_and_a_copy_of_the_chat_has_them(chat: Chat, user: User) -> None:
    from asgiref.sync import sync_to_async

    row = await sync_to_async(upload)(chat.conversation, name="plan.pdf", data=PDF)
    await chat.say("What is in it?", attachments=[row.pk])
    text = chat.llm.chats[-1].text
    assert '<file name="plan.pdf">' in text and "[Page 2]\nPage two has the gnu." in text

    def copied() -> Attachment:
        import json

        (copy,) = import_conversations(user, json.dumps(as_json(chat.conversation)).encode())
        return Attachment.objects.get(conversation=copy)

    copy = await sync_to_async(copied)()
    assert (copy.name, copy.media_type, copy.pages) == ("plan.pdf", "application/pdf", 2)


def test_a_document_is_downloaded_as_the_text_that_is_kept(client: Client, conversation: Conversation) -> None:
    client.force_login(conversation.owner)
    row = upload(conversation, name="plan.pdf", data=PDF)
    response = client.get(reverse("attachment", args=[conversation.pk, row.pk]))
    assert (
        response["Content-Type"].startswith("text/plain")
        and 'filename="plan.pdf.txt"' in response["Content-Disposition"]
    )
    assert b"zebra listens" in response.content


def test_a_waiting_document_is_seen_as_the_model_gets_it(client: Client, conversation: Conversation) -> None:
    client.force_login(conversation.owner)
    row = upload(conversation, name="ports <b>.pdf", data=PDF)
    page = client.get(reverse("preview_attachment", args=[conversation.pk, row.pk])).content.decode()
    assert "The zebra listens on 7781." in page and "[Page 2]" in page and "<b>" not in page
    long = upload(conversation, name="long.txt", data=b"word " * 20_000)
    page = client.get(reverse("preview_attachment", args=[conversation.pk, long.pk])).content.decode()
    assert "the first 50,000 characters" in page and len(page) < 60_000
    client.force_login(User.objects.create_user("eve"))
    assert client.get(reverse("preview_attachment", args=[conversation.pk, row.pk])).status_code == 404
