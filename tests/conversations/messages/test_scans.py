"""The pages of a scanned PDF go to a model that sees, as images; for others the file says that it has no text."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image

from conversations.errors import Invalid
from conversations.messages.documents import draw_pages
from conversations.models import ApiKey, Attachment, Conversation, ModelProfile, User
from tests.conversations import documents

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def page(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def sent(page: Client, conversation: Conversation, data: bytes) -> Any:
    file = SimpleUploadedFile("letter.pdf", data)
    return page.post(reverse("attachments", args=[conversation.pk]), {"file": file}, HTTP_HX_REQUEST="true")


def names() -> list[str]:
    return list(Attachment.objects.order_by("created_at").values_list("name", flat=True))


def test_a_model_that_sees_gets_the_pages(page: Client, conversation: Conversation) -> None:
    ModelProfile.objects.update(sees_images=True)
    answer = sent(page, conversation, documents.scan(3))
    assert answer.status_code == 200 and answer.content.count(b'name="attachments"') == 3
    assert names() == [f"letter.pdf, page {number}" for number in (1, 2, 3)]
    assert b"A scan" not in answer.content
    row = Attachment.objects.earliest("created_at")
    assert (row.kind, row.media_type, row.height) == ("image", "image/jpeg", 1_600)


def test_a_long_scan_says_how_many_pages_there_is_room_for(page: Client, conversation: Conversation) -> None:
    ModelProfile.objects.update(sees_images=True)
    sent(page, conversation, b"a text")
    answer = sent(page, conversation, documents.scan(12))
    assert "pages 1 to 9 of 12" in " ".join(answer.content.decode().split()) and len(names()) == 10
    full = sent(page, conversation, documents.scan(2, size=(300, 300)))
    assert full.status_code == 400 and b"At most 10 files" in full.content


def test_a_model_that_does_not_see_hears_why_and_nothing_is_stored(page: Client, conversation: Conversation) -> None:
    answer = sent(page, conversation, documents.scan(2))
    assert answer.status_code == 400 and b"its pages are pictures" in answer.content and not names()


def test_the_api_answers_with_the_first_page_and_the_ids_of_the_others(
    client: Client, conversation: Conversation
) -> None:
    ModelProfile.objects.update(sees_images=True)
    _, key = ApiKey.make(conversation.owner, "script")
    address = f"/api/conversations/{conversation.pk}/attachments"
    file = SimpleUploadedFile("letter.pdf", documents.scan(3))
    answer = client.post(address, {"file": file}, HTTP_AUTHORIZATION=f"Bearer {key}").json()
    assert (answer["name"], answer["kind"], len(answer["further"])) == ("letter.pdf, page 1", "image", 2)
    assert {answer["id"], *answer["further"]} == {str(pk) for pk in Attachment.objects.values_list("pk", flat=True)}


def test_pages_of_any_size_are_drawn_within_the_same_pixels() -> None:
    for size in ((40, 4_000), (3, 3), (4_000, 3_000)):
        (picture,) = draw_pages(documents.scan(1, size=size), most=5).files
        with Image.open(BytesIO(picture)) as image:
            assert max(image.size) <= 1_601 and min(image.size) >= 1
    assert len(draw_pages(documents.scan(6), most=2).files) == 2


@pytest.mark.parametrize("data", [b"%PDF-1.7\nnonsense", documents.pdf("x", encrypt=True)])
def test_what_cannot_be_drawn_is_refused(data: bytes) -> None:
    with pytest.raises(Invalid, match="file: "):
        draw_pages(data, most=2)
