"""One person may store so much: imports, files and long texts beyond it are refused, and nothing of them is stored."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from conversations import quota
from conversations.exchange.imports import import_conversations
from conversations.models import Attachment, Conversation, Message, User
from conversations.quota import StorageFull, require_storage, used_by
from tests.conversations.api_client import Api
from tests.conversations.pages import Pages

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture(autouse=True)
def one_megabyte(settings: Any) -> None:
    settings.STORAGE_PER_USER_MB = 1
    quota._known.clear()


def packed(characters: int) -> bytes:
    """A small file of a long conversation."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": "word " * 2_000} for n in range(characters // 10_000)]
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", json.dumps([{"title": "t", "messages": messages}]))
    return held.getvalue()


def test_a_small_file_that_becomes_a_large_history_is_refused_whole(user: User) -> None:
    import_conversations(user, packed(600_000))
    assert used_by(user.pk) == 600_000
    with pytest.raises(StorageFull, match=r"stored 1 MB, and one person may store 1 MB\. Delete") as refusal:
        import_conversations(user, packed(600_000))
    assert refusal.value.detail == {"used_mb": 0.6, "limit": 1}
    assert Conversation.objects.count() == 1 and used_by(user.pk) == 600_000
    other = User.objects.create_user("other")
    import_conversations(other, packed(600_000))


def test_room_that_is_made_counts_at_once(user: User) -> None:
    (row,) = import_conversations(user, packed(900_000))
    with pytest.raises(StorageFull):
        import_conversations(user, packed(300_000))
    row.delete()
    import_conversations(user, packed(900_000))


def test_files_and_long_messages_count_and_are_refused(api: Api, user: User, conversation: Conversation) -> None:
    import_conversations(user, packed(990_000))
    file = SimpleUploadedFile("log.txt", b"line\n" * 4_000, content_type="text/plain")
    made = api.client.post(f"/api/conversations/{conversation.pk}/attachments", {"file": file})
    assert (made.status_code, made.json()["error"]["code"]) == (413, "storage_full")
    assert not Attachment.objects.exists()
    before = Message.objects.count()
    said = api.post(f"/api/conversations/{conversation.pk}/messages", {"content": "word " * 12_000})
    assert said.status_code == 413 and Message.objects.count() == before


def test_without_a_limit_nothing_is_counted(user: User, settings: Any, django_assert_num_queries: Any) -> None:
    settings.STORAGE_PER_USER_MB = 0
    with django_assert_num_queries(0):
        require_storage(user.pk, 10**12)


def test_the_sum_is_used_again_and_short_texts_are_not_counted(user: User, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):
        require_storage(user.pk, 100_000)
        require_storage(user.pk, 100_000)
        quota.require_storage_for(user.pk, ["short"])


def test_the_usage_page_says_how_much(user: User) -> None:
    import_conversations(user, packed(600_000))
    assert 'hx-get="/usage/stored/"' in Pages(user).get("usage").content.decode()
    assert Pages(user).get("stored").content == b"0.6 of 1 MB stored"
