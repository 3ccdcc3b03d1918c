from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from conversations import api_keys, projects
from conversations.models import ApiKey, User
from conversations.models.api_key import digest
from tests.conversations.pages import Pages, elements

pytestmark = pytest.mark.once

PLAIN = re.compile(r"cs_[A-Za-z0-9_-]{43}")


@pytest.fixture
def pages(user: User) -> Pages:
    return Pages(user)


@pytest.fixture
def bob(django_user_model: Any) -> User:
    made: User = django_user_model.objects.create_user("bob", password="correct horse battery")
    return made


def make(pages: Pages, name: str, *, htmx: bool = True) -> Any:
    return pages.client.post("/settings/keys", {"name": name}, headers={"HX-Request": "true"} if htmx else {})


def plain_in(response: Any) -> str:
    (plain,) = PLAIN.findall(response.content.decode())
    return str(plain)


def text(response: Any) -> str:
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split()))


def calls(plain: str) -> Any:
    return Client().get("/api/conversations", headers={"authorization": f"Bearer {plain}"})


def test_a_key_is_shown_once_and_opens_the_api(pages: Pages, user: User) -> None:
    response = make(pages, "  backup \n script ")
    assert response["HX-Retarget"] == "#keys-section"
    assert "no-store" in response["Cache-Control"]
    plain = plain_in(response)
    key = user.api_keys.get()
    assert (key.name, key.hash, key.hint) == ("backup script", digest(plain), plain[:7])
    assert calls(plain).status_code == 200
    page = pages.get("settings")
    assert not PLAIN.search(page.content.decode())
    assert f"backup script {plain[:7]}…" in text(page)
    assert "used just now" in text(page)
    assert plain not in str(dict(pages.client.session))


def test_without_scripts_the_page_itself_answers_and_no_address_has_the_key(pages: Pages) -> None:
    response = make(pages, "backup", htmx=False)
    assert response.status_code == 200
    assert "<!doctype html>" in response.content.decode()
    assert calls(plain_in(response)).status_code == 200


@pytest.mark.parametrize("name", ["", " \n", "x" * 101, "a\0b"])
def test_a_name_that_cannot_be_one_is_told_beside_it(pages: Pages, name: str) -> None:
    response = make(pages, name)
    assert (response.status_code, response["HX-Retarget"]) == (400, "#keys-section")
    assert elements(response).by_id("key-name")["aria-invalid"] == "true"
    assert not ApiKey.objects.exists()


def test_there_are_so_many_keys_and_no_more_until_one_is_revoked(pages: Pages, user: User) -> None:
    ApiKey.objects.bulk_create(ApiKey(user=user, name=f"{n}", hash=f"{n}") for n in range(api_keys.MAX_KEYS))
    response = make(pages, "one more")
    assert response.status_code == 409
    assert "You have 50 keys, the most that are allowed" in text(response)
    assert elements(response).by_id("key-name")["value"] == "one more"
    pages.post("revoke_key", user.api_keys.first().pk)
    assert plain_in(make(pages, "one more"))


@pytest.mark.parametrize("htmx", [True, False])
def test_a_revoked_key_lets_nobody_in_and_says_no_more_than_an_unknown_one(
    pages: Pages, user: User, htmx: bool
) -> None:
    plain = plain_in(make(pages, "backup"))
    key = user.api_keys.get()
    response = pages.post("revoke_key", key.pk, htmx=htmx)
    assert response.status_code == 200 if htmx else response["Location"] == "/settings/"
    refused, unknown = calls(plain), calls("cs_unknown")
    assert (refused.status_code, refused.content) == (401, unknown.content)
    first = user.api_keys.get().revoked_at
    pages.post("revoke_key", key.pk)
    assert user.api_keys.get().revoked_at == first
    listed = text(pages.get("settings"))
    assert "revoked" in listed and "never used" in listed
    assert "Revoke backup" not in pages.get("settings").content.decode()


def test_one_that_was_revoked_long_ago_leaves_the_list_and_stays_on_record(pages: Pages, user: User) -> None:
    for days in (29, 31):
        ApiKey.objects.create(
            user=user, name=f"{days} days", hash=f"{days}", revoked_at=timezone.now() - timedelta(days=days)
        )
    listed = text(pages.get("settings"))
    assert "29 days" in listed and "31 days" not in listed
    assert user.api_keys.count() == 2


@pytest.mark.parametrize("key_id", ["bob's", 10**30, 0])
def test_another_persons_key_is_404_and_is_not_listed(pages: Pages, bob: User, key_id: Any) -> None:
    others = api_keys.create_key(bob, "bob's own").key
    id = others.pk if key_id == "bob's" else key_id
    response = pages.client.post(f"/settings/keys/{id}/revoke", headers={"HX-Request": "true"})
    assert response.status_code == 404
    others.refresh_from_db()
    assert others.revoked_at is None
    assert "bob's own" not in text(pages.get("settings"))


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_is_not_signed_in_is_sent_to_do_so(transactional_db: None, method: str) -> None:
    address = "/settings/" if method == "get" else "/settings/keys"
    assert "/accounts/login/" in getattr(Client(), method)(address)["Location"]
    assert not ApiKey.objects.exists()


def test_a_form_of_another_site_makes_no_key(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post("/settings/keys", {"name": "x"}).status_code == 403
    assert not ApiKey.objects.exists()


def test_a_name_is_text_and_no_markup(pages: Pages) -> None:
    response = make(pages, "<script>alert(1)</script>")
    assert "<script>alert" not in response.content.decode()


def test_the_examples_name_this_site_and_its_model(pages: Pages, profile: Any) -> None:
    profile.name = 'the "big" one'
    profile.save()
    response = pages.get("settings")
    assert '<a href="/api/docs">' in response.content.decode()
    page = text(response)
    assert "curl http://testserver/api/conversations" in page
    assert 'base_url="http://testserver/v1"' in page
    assert 'model="the \\"big\\" one",' in page


def test_history_search_is_switched_for_a_key_by_its_owner_alone(pages: Pages, user: User) -> None:
    make(pages, "agent")
    key = user.api_keys.get()
    html = pages.post("key_history", key.pk, on="1").content.decode()
    assert "Models that answer “agent” may search compacted histories now." in html
    assert "History search: on" in html
    key.refresh_from_db()
    assert key.searches_history
    eve = Pages(User.objects.create_user("eve"))
    assert eve.post("key_history", key.pk).status_code == 404
    key.refresh_from_db()
    assert key.searches_history
    assert "History search: off" in pages.post("key_history", key.pk).content.decode()
    api_keys.revoke_key(user, key.pk)
    assert pages.post("key_history", key.pk, on="1").status_code == 404


def test_the_page_takes_the_same_queries_however_many_keys_there_are(
    pages: Pages, user: User, profile: Any, django_assert_max_num_queries: Any
) -> None:
    ApiKey.objects.bulk_create(ApiKey(user=user, name=f"{n}", hash=f"{n}") for n in range(api_keys.MAX_KEYS))
    with django_assert_max_num_queries(11):
        assert pages.get("settings").status_code == 200


def test_a_key_is_in_no_log(pages: Pages, user: User, caplog: Any) -> None:
    with caplog.at_level("DEBUG"):
        plain = plain_in(make(pages, "backup"))
        api_keys.revoke_key(user, user.api_keys.get().pk)
        calls(plain)
    assert "Unauthorized" in caplog.text
    assert plain not in caplog.text


def test_an_operator_makes_and_revokes_keys_by_commands(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", "alice", name="nightly")
    plain = capsys.readouterr().out.strip()
    assert (user.api_keys.get().name, calls(plain).status_code) == ("nightly", 200)
    with pytest.raises(CommandError, match="at most 100 characters"):
        call_command("create_api_key", "alice", name="x" * 101)
    call_command("revoke_api_key", plain[:7])
    assert "'nightly' of alice is revoked" in capsys.readouterr().out
    assert calls(plain).status_code == 401
    with pytest.raises(CommandError, match="No keys in use begin with"):
        call_command("revoke_api_key", plain[:7])


def test_a_key_is_given_a_project_of_its_owner_and_no_other(pages: Pages, user: User) -> None:
    make(pages, "agent")
    key, eve = user.api_keys.get(), User.objects.create_user("eve")
    assert "key_project" not in pages.get("settings").content.decode(), "there is no project yet"
    own, hers = projects.create(user, name="Billing"), projects.create(eve, name="Hers")
    html = pages.post("key_project", key.pk, key_project=own.pk).content.decode()
    assert "Calls with “agent” follow the project Billing." in unescape(html) and "Hers" not in html
    assert pages.post("key_project", key.pk, key_project=hers.pk).status_code == 404
    assert Pages(eve).post("key_project", key.pk, key_project=hers.pk).status_code == 404
    key.refresh_from_db()
    assert key.project == own
    assert "follow no project" in pages.post("key_project", key.pk, key_project="").content.decode()
    key.refresh_from_db()
    assert key.project is None
