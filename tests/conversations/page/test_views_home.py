from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from compression.models import Compaction
from conversations.compaction import snapshots
from conversations.memory.citations import citations_of
from conversations.models import Conversation, Message, ModelProfile, User
from conversations.page.views.sidebar import LIMIT, sidebar
from tests.conversations.chat import Chat
from tests.conversations.pages import Pages, elements
from tests.llm_server import LlmServer

pytestmark = pytest.mark.once


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


def file_of(data: Any) -> SimpleUploadedFile:
    return SimpleUploadedFile("talk.json", data if isinstance(data, bytes) else json.dumps(data).encode())


TALK = {"title": "Ports", "messages": [{"role": "user", "content": "5433", "created_at": "2026-01-01T10:00:00Z"}]}


def test_an_empty_list_says_what_to_do(pages: Pages) -> None:
    html = pages.get("home").content.decode()
    assert "Talk for as long as you like" in html and "Try the sample" in html and "Archived" not in html


def test_without_a_model_the_page_says_how_to_connect_one(pages: Pages) -> None:
    html = pages.get("home").content.decode()
    for words in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "manage.py fetch_model"):
        assert words in html


def test_with_a_model_it_does_not(pages: Pages, profile: ModelProfile) -> None:
    assert "OPENAI_API_KEY" not in pages.get("home").content.decode()


def test_the_list_is_grouped_by_date_with_pinned_ones_first(pages: Pages, user: User) -> None:
    now = timezone.now()
    for title, days, pinned in (("new", 0, False), ("old", 3, False), ("ancient", 90, False), ("star", 90, True)):
        Conversation.objects.create(owner=user, title=title, pinned=pinned, updated_at=now - timedelta(days=days))
    Conversation.objects.create(owner=user, title="away", archived=True)
    html = pages.get("home").content.decode()
    places = [html.index(f">{words}<") for words in
              ("Pinned", "star", "Today", "new", "Last 7 days", "old", "Earlier", "ancient")]  # fmt: skip
    assert places == sorted(places)
    assert "away" not in html


def test_a_long_list_goes_on_where_it_ended(pages: Pages, user: User) -> None:
    now = timezone.now()
    Conversation.objects.bulk_create(
        Conversation(owner=user, title=f"talk {n}", updated_at=now - timedelta(hours=n)) for n in range(LIMIT + 3)
    )
    (more,) = (
        found["hx-get"] for found in elements(pages.get("home")).with_attribute("hx-get") if "before" in found["hx-get"]
    )
    rest = pages.client.get(more, headers={"HX-Request": "true"}).content.decode()
    assert [f">talk {n}<" in rest for n in (LIMIT - 1, LIMIT, LIMIT + 2)] == [False, True, True]


def test_a_new_chat_uses_the_default_model_and_is_not_made_twice(pages: Pages, profile: ModelProfile) -> None:
    first = pages.post("new", htmx=False).headers["Location"]
    assert pages.post("new", htmx=False).headers["Location"] == first
    assert Conversation.objects.get().model == profile


def test_a_conversation_is_imported_and_opens(pages: Pages, profile: ModelProfile) -> None:
    response = pages.post("import", file=file_of(TALK))
    conversation = Conversation.objects.get()
    assert response.json()["place"] == f"/c/{conversation.pk}/"
    assert (conversation.title, conversation.model, conversation.messages.count()) == ("Ports", profile, 1)


@pytest.mark.parametrize("bad", [b"", b"no json", b"[1]", b'{"messages": 5}'])
def test_what_cannot_be_imported_is_refused_with_a_sentence(pages: Pages, bad: bytes) -> None:
    response = pages.post("import", file=file_of(bad))
    assert response.status_code == 400
    assert response.headers["HX-Retarget"] == "#alert"
    assert not Conversation.objects.exists()


def test_a_file_that_is_too_large_is_refused(pages: Pages, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 10
    response = pages.post("import", file=file_of(TALK))
    assert response.status_code == 413
    assert not Conversation.objects.exists()


def test_renaming_reaches_the_list_and_the_head_of_the_open_page(pages: Pages, user: User) -> None:
    conversation = Conversation.objects.create(owner=user)
    here = elements(pages.post("rename", conversation.pk, at=conversation, title=" A <b> "))
    assert [attributes["id"].split("-")[0] for attributes in here.with_attribute("id")] == ["title", "entry"]
    elsewhere = elements(pages.post("rename", conversation.pk, title="A <b>"))
    assert [attributes["id"].split("-")[0] for attributes in elsewhere.with_attribute("id")] == ["entry"]
    conversation.refresh_from_db()
    assert conversation.title == "A <b>"


def test_the_menu_of_a_chat_in_the_list_comes_when_it_is_opened(pages: Pages, user: User) -> None:
    conversation = Conversation.objects.create(owner=user, title="A <b>", pinned=True)
    listed = elements(pages.get("home")).by_id(f"menu-{conversation.pk}")
    assert listed["data-filled-from"] == reverse("entry_menu", args=[conversation.pk])
    menu = pages.get("entry_menu", conversation.pk)
    assert elements(menu).named("title")["value"] == "A <b>"
    assert all(name in menu.content.decode() for name in ("Unpin", "Archive", "Delete"))


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
def test_a_title_has_its_limits(pages: Pages, user: User, title: str) -> None:
    conversation = Conversation.objects.create(owner=user, title="before")
    assert pages.post("rename", conversation.pk, title=title).status_code == 400
    conversation.refresh_from_db()
    assert conversation.title == "before"


def test_deleting_the_open_conversation_leads_home_and_another_offers_undo(pages: Pages, user: User) -> None:
    first, second = (Conversation.objects.create(owner=user, title=title) for title in ("One", "Two"))
    other = pages.post("delete", first.pk, at=second)
    assert other.status_code == 200 and "HX-Redirect" not in other.headers
    assert reverse("restore_trashed", args=[first.pk]) in other.content.decode()
    assert pages.post("delete", second.pk, at=second).headers["HX-Redirect"] == f"/?trashed={second.pk}"
    html = pages.client.get(f"/?trashed={second.pk}").content.decode()
    assert "Moved to the trash: <b>Two</b>" in html and f"entry-{first.pk}" not in html
    assert Conversation.objects.exclude(trashed_at=None).count() == 2


@pytest.mark.parametrize(("kind", "start"), [("json", b"{"), ("md", b"# ")])
def test_a_conversation_is_exported_as_a_download(pages: Pages, user: User, kind: str, start: bytes) -> None:
    conversation = Conversation.objects.create(owner=user, title="Über <alles>")
    response = pages.get("export", conversation.pk, format=kind)
    assert response.headers["Content-Disposition"] == f'attachment; filename="uber-alles.{kind}"'
    assert response.content.startswith(start)


def test_an_unknown_export_format_is_refused(pages: Pages, user: User) -> None:
    conversation = Conversation.objects.create(owner=user)
    assert pages.get("export", conversation.pk, format="exe").status_code == 400


def listed(pages: Pages, **query: str) -> list[str]:
    """The headings and titles of the list, in order."""
    html = pages.get("home", **query).content.decode()
    found = re.findall(r'class="heading">(.*?)<|id="entry-.*?>(.*?)</a>', html)
    return [heading or title for heading, title in found]


def test_what_is_pinned_goes_to_the_top_and_back(pages: Pages, user: User) -> None:
    now = timezone.now()
    old, new = (
        Conversation.objects.create(owner=user, title=title, updated_at=now - timedelta(days=days))
        for title, days in (("old", 3), ("new", 0))
    )
    html = pages.post("pin", old.pk, on="1").content.decode()
    assert html.index(">Pinned<") < html.index(">old<") < html.index(">new<")
    assert listed(pages) == ["Pinned", "old", "Today", "new"]
    assert 'id="puts"' in pages.post("pin", old.pk, at=new).content.decode(), "the open page's menu follows"
    assert listed(pages) == ["Today", "new", "Last 7 days", "old"]
    old.refresh_from_db()
    assert old.updated_at == now - timedelta(days=3)


def test_what_is_archived_leaves_the_list_and_is_found_apart(pages: Pages, conversation: Conversation) -> None:
    assert ">New chat</a>" not in pages.post("archive", conversation.pk, on="1").content.decode()
    assert "?archived" in pages.get("home").content.decode()
    assert listed(pages) == []
    assert listed(pages, archived="") == ["Archived", "New chat"]
    at = pages.post("archive", conversation.pk, at=conversation, on="1").content.decode()
    assert ">Archived<" in at, "the open one stays in sight, under a heading of its own"
    assert pages.post("new", htmx=False).headers["Location"] != f"/c/{conversation.pk}/"
    assert pages.post("archive", conversation.pk).content.decode().count(">New chat</a>") == 2


def test_the_page_of_what_is_archived_lists_what_was_used_last_as_ever(pages: Pages, user: User) -> None:
    now = timezone.now()
    for title, days, pinned, archived in (("new", 0, 0, 0), ("star", 2, 1, 0), ("away", 1, 0, 1)):
        fields = {"pinned": bool(pinned), "archived": bool(archived), "updated_at": now - timedelta(days=days)}
        Conversation.objects.create(owner=user, title=title, **fields)
    for query in ({}, {"archived": ""}, {"before": (now - timedelta(days=1)).isoformat()}):
        html = pages.get("home", **query).content.decode()
        recent = html[html.index('id="recent-heading"') :]
        assert re.findall(r"<li>\s*<a[^>]*>\s*<span>([^<]*)<", recent) == ["new", "star"], query
    Conversation.objects.filter(archived=False).delete()
    assert 'id="recent-heading"' not in pages.get("home", archived="").content.decode()


async def test_what_is_archived_stays_so_whatever_is_said(chat: Chat) -> None:
    await Conversation.objects.filter(pk=chat.conversation.pk).aupdate(archived=True)
    await chat.say("Are you still there?")
    await chat.refresh()
    assert chat.conversation.archived


@pytest.mark.parametrize(("provider", "is_said"), [("builtin", True), ("openai", False)])
def test_the_page_says_where_only_the_demo_model_answers(pages: Pages, provider: str, is_said: bool) -> None:
    ModelProfile.objects.create(name="model", model_id="model", provider=provider, window=2_048)
    assert ("built-in demo model" in pages.get("home").content.decode()) is is_said


def test_the_list_is_two_queries(user: User, django_assert_num_queries: Any) -> None:
    Conversation.objects.bulk_create(Conversation(owner=user, title=f"talk {n}") for n in range(9))
    with django_assert_num_queries(2):  # projects are one of them
        assert len(sidebar(user).conversations) == 9


def test_the_sample_opens_with_a_hint_and_is_another_one_each_time(pages: Pages, profile: ModelProfile) -> None:
    first, second = (pages.post("sample", htmx=False).headers["Location"] for _ in range(2))
    assert first != second and first.endswith("/?sample")
    conversation = Conversation.objects.first()
    assert "Fridays" in conversation.rules[0]
    assert "A sample." in pages.client.get(first).content.decode()
    assert "A sample." not in pages.get("chat", conversation.pk).content.decode()


def test_the_sample_is_summarised_as_home_says(pages: Pages, profile: ModelProfile) -> None:
    html = pages.get("home").content.decode()
    pages.post("sample", htmx=False)
    row = Compaction.objects.get()
    number = Message.objects.filter(conversation=row.conversation).count()
    said = f"a chat of {number} messages; the first {row.messages_condensed} are summarised"
    assert said in " ".join(html.split())
    facts = citations_of([row])[row.pk]
    assert facts.said > 20 and not facts.missing, "every statement is in the messages"
    assert row.after < row.before / 3
    numbers = {number + 1 for place in facts.places for number in place}
    assert numbers, "and has the numbers of messages"


@pytest.mark.parametrize("window", [2_048, 8_192, 1_000_000])
async def test_the_sample_can_be_folded_at_any_window_without_a_model(
    user: User, llm: LlmServer, server_loop: None, window: int
) -> None:
    await ModelProfile.objects.acreate(name="small", provider="builtin", model_id="small", window=window)
    await sync_to_async(lambda: Pages(user).post("sample", htmx=False))()
    conversation = await Conversation.objects.aget()
    await sync_to_async(snapshots.rollback)(conversation)
    done = await Chat(conversation, llm).compact()
    assert done.status == "succeeded" and done.messages_condensed >= 30
    assert done.post_tokens < done.pre_tokens / 2


def test_a_first_message_opens_a_chat_with_the_chosen_model(
    pages: Pages, profile: ModelProfile, llm: LlmServer
) -> None:
    other = ModelProfile.objects.get(pk=profile.pk)
    other.pk, other.name = None, "another"
    other.save()
    llm.enqueue("Tides come from the moon.")
    answer = pages.post("ask", content="Why are there\r\ntides?", model=str(other.pk), effort="high")
    row = Conversation.objects.get()
    assert (row.model_id, row.effort, row.kind) == (other.pk, "high", "chat")
    assert answer.headers["HX-Redirect"] == reverse("chat", args=[row.pk])
    assert row.messages.get(role="user").content == "Why are there\ntides?"


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        ("word " * 30_000, 413, "Too long for scripted"),
        ("/compact", 400, "There is nothing to compact in a new chat."),
        ("/compct", 400, "Did you mean /compact?"),
        ("  ", 400, ""),
        ("a\0b", 400, ""),
    ],
)
def test_a_refused_first_message_leaves_no_chat(
    pages: Pages, profile: ModelProfile, content: str, status: int, words: str
) -> None:
    answer = pages.post("ask", content=content)
    assert answer.status_code == status and words in answer.content.decode()
    assert not Conversation.objects.exists()


def test_a_first_message_to_an_unknown_model_or_effort_is_refused(pages: Pages, profile: ModelProfile) -> None:
    assert pages.post("ask", content="hi", model="999").status_code == 400
    assert pages.post("ask", content="hi", effort="utmost").status_code == 400
    assert not Conversation.objects.exists()


def test_home_has_the_cursor_in_its_box(pages: Pages, profile: ModelProfile) -> None:
    page = elements(pages.get("home"))
    assert "autofocus" in page.by_id("first-message") and "autofocus" not in page.by_id("search")
    assert len(page.with_attribute("data-starter")) == 4
