"""The first page of the administration: tiles, the latest compactions, and the sections beside every page."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from compression.models import Compaction
from conversations.models import Conversation, ModelProfile, User
from tests.conversations.pages import elements

pytestmark = pytest.mark.once


@pytest.fixture
def root(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def compaction(conversation: Conversation, **columns: Any) -> Compaction:
    figures = {"pre_tokens": 9_000, "post_tokens": 900, "facts_found": 50, "facts_kept": 49, "summariser": "small"}
    return Compaction.objects.create(
        conversation=conversation, **{"trigger": "auto", "status": "succeeded"} | figures | columns
    )


def listed(client: Client, show: str = "") -> str:
    page = client.get("/admin/", {"show": show}).content.decode()
    return page.partition('<div class="wide-table">')[2].partition("</table>")[0]


def test_the_latest_compactions_are_told_and_chosen_by_how_they_went(root: Client, conversation: Conversation) -> None:
    for title, columns in {
        "Went well": {},
        "Lost facts": {"facts_kept": 33},
        "Was undone": {"status": "undone"},
        "Broke": {"status": "failed", "error": "no answer"},
        "Found nothing": {"status": "skipped"},
    }.items():
        own = Conversation.objects.create(owner=conversation.owner, title=title)
        compaction(own, **columns)
    every = listed(root)
    assert all(title in every for title in ("Went well", "Lost facts", "Was undone", "Broke"))
    assert "Found nothing" not in every and "9,000 → <b>900</b>" in every
    assert '<span class="low">33 of 50</span>' in every and "<span>49 of 50</span>" in every
    assert "Lost facts" in (low := listed(root, "low")) and "Went well" not in low and "Broke" not in low
    assert "Was undone" in (undone := listed(root, "undone")) and "Went well" not in undone
    assert "Broke" in (failed := listed(root, "failed")) and "Did not work" in failed and "Went well" not in failed
    assert listed(root, "\0nonsense") == every


def test_the_tiles_lead_to_their_sections(root: Client, conversation: Conversation, profile: ModelProfile) -> None:
    page = elements(root.get("/admin/"))
    tiles = [one["href"] for one in page.with_attribute("href") if one.get("class") == "tile"]
    assert len(tiles) == 5
    for address in tiles:
        assert root.get(address).status_code == 200
    html = root.get("/admin/").content.decode()
    assert "1 for chats" in html and "1 active this week" in html


def test_each_page_has_the_sections_and_marks_its_own(root: Client) -> None:
    for address, name in {
        "/admin/": "Overview",
        "/admin/conversations/modelprofile/": "Models",
        "/admin/analytics/": "Analytics",
        "/admin/site/": "Site",
        "/admin/auth/group/": "Site",
    }.items():
        html = root.get(address).content.decode()
        (current,) = [one for one in html.split("<li>") if 'aria-current="page"' in one and "#a-" in one]
        assert f"</svg>{name}</a>" in current, address
    site = root.get("/admin/site/").content.decode()
    assert "/admin/compression/snapshot/" in site and "/admin/auth/group/" in site


def test_staff_see_what_they_may_view_and_others_nothing(conversation: Conversation) -> None:
    compaction(conversation)
    staff = User.objects.create_user("staff", password="correct horse battery", is_staff=True)
    client = Client()
    client.force_login(staff)
    html = client.get("/admin/").content.decode()
    assert 'class="tile"' not in html and "wide-table" not in html and "/compaction/" not in html
    staff.user_permissions.add(Permission.objects.get(codename="view_compaction"))
    html = client.get("/admin/").content.decode()
    assert "wide-table" in html and html.count('class="tile"') == 1 and "Models" not in html
    client.force_login(conversation.owner)
    assert client.get("/admin/").status_code == client.get("/admin/site/").status_code == 302


def test_the_page_takes_the_same_queries_whatever_there_is(
    root: Client, conversation: Conversation, django_assert_max_num_queries: Any
) -> None:
    for _ in range(15):
        compaction(Conversation.objects.create(owner=conversation.owner))
    root.get("/admin/")
    with django_assert_max_num_queries(20):
        root.get("/admin/")
