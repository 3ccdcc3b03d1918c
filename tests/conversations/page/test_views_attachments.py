"""Files in the composer, and in the messages that they went with."""

from __future__ import annotations

import json
import re
from io import BytesIO
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from compression.core.values import Steering
from conversations.compaction import compaction
from conversations.models import Attachment, Conversation, Message, ModelProfile, User
from tests.conversations.pages import Pages, elements, one_line
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once

NOTES = b"# Notes\n\n</details><script>alert(1)</script>\n"
MARKER = "[LongText#1]"


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def seeing(profile: ModelProfile) -> ModelProfile:
    profile.sees_images, profile.price_input, profile.price_output = True, 0.4, 1.6
    profile.save()
    return profile


def png(width: int = 640, height: int = 480) -> bytes:
    made = BytesIO()
    Image.new("RGB", (width, height), "teal").save(made, "PNG")
    return made.getvalue()


def uploads(pages: Pages, conversation: Conversation, name: str, data: bytes) -> Any:
    return pages.post("attachments", conversation.pk, file=SimpleUploadedFile(name, data))


def waiting() -> Attachment:
    return Attachment.objects.filter(message=None).latest("created_at")


def test_a_file_waits_as_a_chip_with_what_it_costs(
    pages: Pages, conversation: Conversation, seeing: ModelProfile
) -> None:
    chip = uploads(pages, conversation, "the rack.png", png())
    row = waiting()
    assert elements(chip).by_id(f"attachment-{row.pk}")
    for response in (chip, pages.get("chat", conversation.pk)):
        shown = one_line(response.content.decode())
        assert "the rack.png" in shown and f"{row.tokens:,} tokens · $0.00044" in shown
        assert f'name="attachments" value="{row.pk}"' in shown
        assert "does not see images" not in shown
    for _ in ("this tab", "another one"):
        removed = pages.post("remove_attachment", conversation.pk, row.pk)
        assert (removed.status_code, removed.content) == (200, b"")
    assert "the rack.png" not in pages.get("chat", conversation.pk).content.decode()


def test_a_chip_warns_at_once_where_the_model_sees_no_images(pages: Pages, conversation: Conversation) -> None:
    chip = uploads(pages, conversation, "rack.png", png())
    assert b"scripted does not see images" in chip.content
    assert b"does not see images" not in uploads(pages, conversation, "notes.md", NOTES).content


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("tool.exe", b"\0\1\2", "This kind of file can&#x27;t be read"),
        ("nothing.txt", b"", "Is empty"),
        ("big.txt", b"a" * 1_000_001, "1 MB"),
        ("bigger.txt", b"a" * 5_000_001, "1 MB"),
        ("<b>.png", png()[:60], "&lt;b&gt;.png"),
    ],
)
def test_what_is_refused_says_why_in_its_own_place(
    pages: Pages, conversation: Conversation, name: str, data: bytes, why: str
) -> None:
    refused = uploads(pages, conversation, name, data)
    assert refused.status_code == 400 and why in refused.content.decode()
    assert (refused.headers["HX-Retarget"], refused.headers["HX-Reswap"]) == ("this", "outerHTML")
    assert not Attachment.objects.exists()


def test_no_file_at_all_is_refused(pages: Pages, conversation: Conversation) -> None:
    assert pages.post("attachments", conversation.pk).status_code == 400


def test_files_and_pastes_are_sent_with_the_words_and_shown_folded_up(
    pages: Pages, conversation: Conversation, seeing: ModelProfile, llm: LlmServer
) -> None:
    uploads(pages, conversation, "rack.png", png(1_600, 800))
    image = waiting()
    uploads(pages, conversation, "notes.md", NOTES)
    notes = waiting()
    parts = [{"text": f"see {MARKER} "}, {"paste": 1, "text": "<b>a\r\nb"}, {"text": " now"}]
    said = {"content": f"see {MARKER} {MARKER} now", "parts": json.dumps(parts), "client_id": "one"}
    for _ in range(2):
        sent = pages.post("send", conversation.pk, **said, attachments=[image.pk, notes.pk])
        assert sent.content.decode().count('hx-swap-oob="delete"') == 2
    question = Message.objects.get(role="user")
    assert question.content.startswith(f"see {MARKER} <b>a\r\nb now")
    assert NOTES.decode() in question.content
    assert not Attachment.objects.filter(message=None).exists()
    for response in (sent, pages.get("chat", conversation.pk), pages.get("message", conversation.pk, question.pk)):
        html = response.content.decode()
        assert f"see {MARKER} <details" in html and "<b>LongText#1</b> <small>7 characters</small>" in html
        assert re.search(r"&lt;b&gt;a\r\nb</div></details\s*> now</div>", html)
        assert "&lt;file" not in html and "<script>alert" not in html
        (picture,) = [found for tag, found in elements(response).found if tag == "img"]
        assert (picture["alt"], picture["width"], picture["height"]) == ("rack.png", "320", "160")


def test_a_paste_is_no_command_but_may_steer_one(pages: Pages, conversation: Conversation, llm: LlmServer) -> None:
    command = json.dumps([{"paste": 1, "text": "/compact everything"}])
    pages.post("send", conversation.pk, content=MARKER, parts=command)
    assert Message.objects.filter(role="user").get().content == "/compact everything"
    steered = json.dumps([{"text": "/compact keep "}, {"paste": 1, "text": "the ports"}])
    pages.post("send", conversation.pk, content=f"/compact keep {MARKER}", parts=steered)
    assert conversation.compactions.get().instructions == "keep the ports"


@pytest.mark.parametrize(
    ("form", "named"), [({"parts": "{}"}, b"Must be a list"), ({"attachments": ["x"]}, b"Must be ids")]
)
def test_what_is_no_form_of_ours_is_refused(
    pages: Pages, conversation: Conversation, form: dict[str, Any], named: bytes
) -> None:
    refused = pages.post("send", conversation.pk, content="x", **form)
    assert refused.status_code == 400 and named in refused.content
    assert not Message.objects.exists()


def test_an_image_is_seen_and_text_is_kept_by_its_owner_alone(pages: Pages, conversation: Conversation) -> None:
    data = png()
    uploads(pages, conversation, "rack.png", data)
    image = waiting()
    uploads(pages, conversation, "page.html", NOTES)
    text = waiting()
    seen, kept = (pages.get("attachment", conversation.pk, row.pk) for row in (image, text))
    assert (seen.headers["Content-Type"], kept.headers["Content-Type"]) == ("image/png", "text/plain; charset=utf-8")
    assert seen.headers["Content-Disposition"].startswith("inline") and Image.open(BytesIO(seen.content))
    assert kept.headers["Content-Disposition"].startswith("attachment") and kept.content == NOTES
    for response in (seen, kept):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert response.headers["Cache-Control"] == "private, no-store"
    pages.post("send", conversation.pk, content="read this", attachments=[text.pk])
    assert pages.get("attachment", conversation.pk, text.pk).content == NOTES
    mallory = Pages(get_user_model().objects.create_user("mallory"))
    assert mallory.get("attachment", conversation.pk, image.pk).status_code == 404
    assert mallory.post("remove_attachment", conversation.pk, image.pk).status_code == 404
    assert mallory.post("attachments", conversation.pk, file=SimpleUploadedFile("a.txt", b"a")).status_code == 404
    assert pages.get("attachment", conversation.pk, uuid4()).status_code == 404
    elsewhere = Conversation.objects.create(owner_id=conversation.owner_id)
    assert pages.get("attachment", elsewhere.pk, image.pk).status_code == 404


def test_a_form_that_writes_a_message_anew_has_its_words_and_names_its_files(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    uploads(pages, conversation, "notes.md", NOTES)
    pages.post("send", conversation.pk, content="read this", attachments=[waiting().pk])
    question = Message.objects.get(role="user")
    form = pages.get("edit", conversation.pk, question.pk).content.decode()
    assert "\nread this</textarea>" in form and "notes.md stays with it." in form
    pages.post("edit", conversation.pk, question.pk, content="read it again")
    anew = Message.objects.get(role="user", replaced_by=None)
    assert anew.content.startswith("read it again") and NOTES.decode() in anew.content


def test_what_was_folded_looks_the_same_once_it_is_opened_and_beside_its_summary(
    pages: Pages, conversation: Conversation, llm: LlmServer
) -> None:
    uploads(pages, conversation, "notes.md", NOTES)
    parts = json.dumps([{"text": "see "}, {"paste": 1, "text": "a log"}])
    pages.post("send", conversation.pk, content=f"see {MARKER}", parts=parts, attachments=[waiting().pk])
    for number in range(4):
        pages.post("send", conversation.pk, content=f"and port 543{number}? " + "so on and on " * 60)
    compaction.request(conversation, trigger="manual", steering=Steering())
    question, row = Message.objects.earliest("created_at"), conversation.compactions.get()
    assert row.status == "succeeded", row.error
    opened = pages.get("message", conversation.pk, question.pk, body="")
    sources = pages.get("compaction", conversation.pk, row.pk).content.decode().partition('class="source"')[2]
    for html in (opened.content.decode(), sources):
        assert "<b>LongText#1</b> <small>5 characters</small></summary><div>a log</div>" in html
        assert "<b>notes.md</b>" in html and "&lt;file" not in html
