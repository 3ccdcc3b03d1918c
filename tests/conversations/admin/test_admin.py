from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.core.management import CommandError, call_command
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from compression.models import Compaction, Snapshot
from conversations.admin import ConversationAdmin
from conversations.models import ApiKey, Conversation, Message, ModelProfile, User
from tests.conversations.chat import fill

PAGES = [
    "conversations/conversation",
    "compression/compaction",
    "compression/checkpoint",
    "compression/snapshot",
    "conversations/modelprofile",
    "conversations/apikey",
]
READ_ONLY = ["compression/compaction", "compression/checkpoint", "compression/snapshot", "conversations/apikey"]


@pytest.fixture
def client(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def compressed(conversation: Conversation, client: Client) -> Compaction:
    fill(conversation, 20)
    act(client, "compact_now", conversation)
    return Compaction.objects.get(status="succeeded")


def act(client: Client, action: str, *rows: Any) -> str:
    """The page after an action on the list of conversations."""
    data = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return client.post("/admin/conversations/conversation/", data, follow=True).content.decode()


def posted(profile: ModelProfile, **changes: Any) -> dict[str, Any]:
    fields = ("name", "provider", "model_id", "base_url", "window", "role", "is_local", "enabled")
    return {field: getattr(profile, field) for field in fields} | {"api_key": ""} | changes


@pytest.mark.parametrize("page", PAGES)
def test_a_list_takes_the_same_queries_whatever_its_length(
    client: Client, conversation: Conversation, user: User, page: str, django_assert_max_num_queries: Any
) -> None:
    profile = ModelProfile.objects.get()
    for n in range(15):
        row = Conversation.objects.create(owner=User.objects.create_user(f"user {n}"), model=profile)
        fill(row, 2, words=1)
        act(client, "compact_now", row)
        Compaction.objects.create(conversation=row, trigger="auto", status="failed")
        Snapshot.objects.create(conversation=row, purpose="recovery")
        ApiKey.make(row.owner, f"key {n}")
        ModelProfile.objects.create(name=f"model {n}", model_id="x")
    with django_assert_max_num_queries(9):
        assert client.get(f"/admin/{page}/").status_code == 200


def test_the_list_counts_messages(client: Client, conversation: Conversation) -> None:
    fill(conversation, 7, words=1)
    assert '<td class="field-message_count">7</td>' in client.get("/admin/conversations/conversation/").content.decode()


@pytest.mark.parametrize("page", READ_ONLY)
def test_what_is_written_by_the_machine_cannot_be_added_or_changed(
    client: Client, conversation: Conversation, page: str
) -> None:
    compressed(conversation, client)
    ApiKey.make(conversation.owner, "key")
    model = {"compaction": Compaction, "apikey": ApiKey, "snapshot": Snapshot}.get(page.split("/")[1])
    row = model.objects.first() if model else conversation.checkpoints.first()
    assert row is not None
    assert client.get(f"/admin/{page}/add/").status_code == 403
    assert client.get(f"/admin/{page}/{row.pk}/change/").status_code == 200
    assert client.post(f"/admin/{page}/{row.pk}/change/", {"status": "failed"}).status_code == 403


def test_the_state_of_compression_is_shown_and_not_editable(client: Client, conversation: Conversation) -> None:
    compressed(conversation, client)
    conversation.refresh_from_db()
    path = f"/admin/conversations/conversation/{conversation.pk}/change/"
    page = client.get(path).content.decode()
    assert "[Compressed Message Summary]" in page
    assert 'name="compressed_context"' not in page

    forged = {"title": "New", "mode": "assistant", "policy": "{}", "compressed_context": "x", "owner": "1"}
    assert client.post(path, forged).status_code == 302
    after = Conversation.objects.get()
    assert after.title == "New"
    assert after.compressed_context == conversation.compressed_context
    assert after.owner == conversation.owner


def test_an_edit_does_not_take_back_what_a_compaction_wrote_meanwhile(
    client: Client, conversation: Conversation
) -> None:
    stale = Conversation.objects.get()
    compressed(conversation, client)
    stale.title = "New"
    form: Any = SimpleNamespace(changed_data=["title"])
    ConversationAdmin(Conversation, admin.site).save_model(HttpRequest(), stale, form, True)
    assert (Conversation.objects.get().title, Conversation.objects.get().is_compressed) == ("New", True)


@pytest.mark.parametrize("policy", ['{"threshold": 2}', '{"nonsense": 1}', "[]", "{"])
def test_a_policy_out_of_range_is_refused(client: Client, conversation: Conversation, policy: str) -> None:
    path = f"/admin/conversations/conversation/{conversation.pk}/change/"
    response = client.post(path, {"title": "", "mode": "assistant", "policy": policy})
    assert (response.status_code, "errorlist" in response.content.decode()) == (200, True)
    assert Conversation.objects.get().policy == {}


def test_compact_now_and_undo_say_for_each_row_what_was_done(client: Client, conversation: Conversation) -> None:
    fill(conversation, 20)
    busy = Conversation.objects.create(owner=conversation.owner, title="Busy")
    running = Compaction.objects.create(conversation=busy, trigger="auto", status="running")
    Compaction.objects.filter(pk=running.pk).update(lease_expires_at=timezone.now() + timedelta(hours=1))

    page = act(client, "compact_now", conversation, busy)
    assert "New chat is being compacted." in page
    assert "Busy: This conversation is already being compacted." in page
    done = Compaction.objects.get(status="succeeded")
    assert (done.trigger, done.steering) == ("manual", {"quality": "standard"})

    page = act(client, "undo_last", conversation, busy)
    assert "New chat is as it was before its last compaction." in page
    assert "Busy: There is no compaction to undo." in page
    assert not Conversation.objects.get(pk=conversation.pk).is_compressed


def test_a_compaction_shows_its_summary_beside_its_source(
    client: Client, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    row = compressed(conversation, client)
    with django_assert_max_num_queries(14):  # one of them is cached by a process
        page = client.get(f"/admin/compression/compaction/{row.pk}/change/").content.decode()
    assert f"Its source: {row.messages_condensed} messages" in page
    assert "Message 0 says port 5000" in page
    assert "Message 19 says port 5019" not in page
    assert row.checkpoints.get().summary.splitlines()[1] in page
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| onclick=", page)


def test_a_compaction_that_failed_shows_why(client: Client, conversation: Conversation) -> None:
    row = Compaction.objects.create(conversation=conversation, trigger="auto", status="failed", error="over budget")
    page = client.get(f"/admin/compression/compaction/{row.pk}/change/").content.decode()
    assert "Nothing was written. over budget" in page


def test_content_is_escaped_wherever_it_is_shown(client: Client, conversation: Conversation) -> None:
    evil = "<script>alert(1)</script>"
    row = compressed(conversation, client)
    Message.objects.update(content=evil)
    row.checkpoints.update(summary=evil)
    Compaction.objects.update(summariser=evil, error=evil)
    Conversation.objects.update(title=evil, compressed_context=evil)
    pages = [f"/admin/{page}/" for page in PAGES]
    pages += [f"/admin/conversations/conversation/{conversation.pk}/change/"]
    pages += [f"/admin/compression/compaction/{row.pk}/change/"]
    pages += [f"/admin/compression/checkpoint/{row.checkpoints.get().pk}/change/"]
    for page in pages:
        assert evil not in client.get(page).content.decode(), page


@pytest.mark.parametrize(
    "query", ["trigger=manual", "status=succeeded", "summariser=x", "created_at__gte=2026-01-01T00:00:00%2B00:00"]
)
def test_compactions_are_filtered(client: Client, conversation: Conversation, query: str) -> None:
    Compaction.objects.create(conversation=conversation, trigger="manual", status="succeeded", summariser="x")
    Compaction.objects.create(
        conversation=conversation, trigger="auto", status="failed", created_at="2025-01-01T00:00:00Z"
    )
    assert "1 compaction\n" in client.get(f"/admin/compression/compaction/?{query}").content.decode()


def test_the_key_of_a_model_goes_in_and_never_comes_out(client: Client, profile: ModelProfile) -> None:
    path = f"/admin/conversations/modelprofile/{profile.pk}/change/"
    assert "sk-test" not in client.get(path).content.decode()

    assert client.post(path, posted(profile, window=9_000)).status_code == 302
    profile.refresh_from_db()
    assert (profile.window, profile.api_key) == (9_000, "sk-test")

    assert client.post(path, posted(profile, api_key="sk-new", window=1)).status_code == 200
    response = client.post(path, posted(profile, api_key="sk-new"))
    assert response.status_code == 302
    profile.refresh_from_db()
    assert profile.api_key == "sk-new"
    history = client.get(f"/admin/conversations/modelprofile/{profile.pk}/history/").content.decode()
    assert "sk-new" not in history


def test_a_refused_form_does_not_show_the_key_again(client: Client, profile: ModelProfile) -> None:
    path = f"/admin/conversations/modelprofile/{profile.pk}/change/"
    assert "sk-new" not in client.post(path, posted(profile, api_key="sk-new", window=1)).content.decode()


def test_a_model_can_be_added_without_a_key(client: Client, profile: ModelProfile) -> None:
    assert client.post("/admin/conversations/modelprofile/add/", posted(profile, name="local")).status_code == 302
    assert ModelProfile.objects.get(name="local").api_key == ""


def test_a_key_of_the_api_shows_no_hash_and_can_be_taken_away(client: Client, user: User) -> None:
    key, plain = ApiKey.make(user, "script")
    for path in ("/admin/conversations/apikey/", f"/admin/conversations/apikey/{key.pk}/change/"):
        page = client.get(path).content.decode()
        assert "script" in page
        assert key.hash not in page
        assert plain not in page
    client.post(f"/admin/conversations/apikey/{key.pk}/delete/", {"post": "yes"})
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("what", ["conversations/conversation", "conversations/user"])
def test_deleting_says_what_goes_along_in_figures_and_takes_compactions_too(
    client: Client, conversation: Conversation, what: str
) -> None:
    compressed(conversation, client)
    row: Any = conversation if what == "conversations/conversation" else conversation.owner
    path = f"/admin/{what}/{row.pk}/delete/"
    page = client.get(path).content.decode()
    assert "<li>Messages: 20</li>" in page
    assert "word0" not in page
    client.post(path, {"post": "yes"})
    assert not Conversation.objects.exists()
    assert not Compaction.objects.exists()


def test_create_api_key_prints_a_key_that_works(user: User) -> None:
    out = StringIO()
    call_command("create_api_key", user.get_username(), stdout=out)
    plain = out.getvalue().strip()
    response = Client(headers={"authorization": f"Bearer {plain}"}).get("/api/conversations")
    assert response.status_code == 200
    assert ApiKey.objects.get().hash != plain


def test_create_api_key_for_nobody_says_so_in_one_line(db: None) -> None:
    with pytest.raises(CommandError) as failed:
        call_command("create_api_key", "nobody")
    assert str(failed.value) == "There is no user called 'nobody'."
    assert failed.value.returncode == 1


@pytest.mark.parametrize("query", ["1 " * 1_000, "y" * 60_000])
def test_a_search_that_no_database_can_read_is_refused(client: Client, query: str) -> None:
    for model, site in admin.site._registry.items():
        if site.search_fields:
            response = client.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/", {"q": query})
            assert response.status_code == 400 and "Search for at most 200 characters." in response.content.decode()
    assert client.get("/admin/conversations/conversation/", {"q": "y" * 200}).status_code == 200


def test_a_number_beyond_64_bits_is_refused(client: Client, profile: ModelProfile) -> None:
    far = "9" * 23
    for response in (
        client.get("/admin/axes/accesslog/", {"attempt_time__year": far}),
        client.post(f"/admin/conversations/modelprofile/{profile.pk}/change/", posted(profile, groups=far)),
    ):
        assert response.status_code in (200, 400)
        assert "too large" in response.content.decode() or "not one of the available" in response.content.decode()


def test_a_budget_below_nothing_is_refused(client: Client, user: User) -> None:
    response = client.post(f"/admin/conversations/user/{user.pk}/change/", {"username": "ada", "monthly_usd": "-1"})
    assert "greater than or equal to 0" in response.content.decode()
