"""Every page, every address of the API and of the gateway, for those who may not: nobody gets in, nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from conversations.gateway.pass_through import ADDRESSES
from conversations.models import ApiKey, Conversation, User
from tests.conversations.addresses import belongings, operations, pages
from tests.conversations.pages import BACKEND

pytestmark = [pytest.mark.django_db, pytest.mark.once]

PASSWORD = "correct horse battery"
OPEN = {
    *("account_login", "login", "setup", "join", "logout", "words", "manifest", "offline", "worker", "healthz"),
    *("readyz", "metrics", "mfa_authenticate", "mfa_login_webauthn", "shared", "shared_file"),
}
"""Names of pages that anybody may open; a shared chat needs its address, and metrics are for this machine."""
CALLS = sorted(
    {"chat/completions", "messages", "messages/count_tokens", "responses", "responses/input_tokens", *ADDRESSES}
)
UNCOUNTED = {"AuditEntry"}
"""Models whose rows are of attempts."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def things(conversation: Conversation) -> dict[str, Any]:
    return belongings(conversation)


def stored() -> dict[str, list[dict[str, Any]]]:
    """All rows of the site's own models, by their names."""
    models = [model for app in ("conversations", "compression") for model in apps.get_app_config(app).get_models()]
    rows = {model.__name__: list(model._base_manager.order_by("pk").values()) for model in models}
    return {name: found for name, found in rows.items() if name not in UNCOUNTED}


def statuses(client: Client, addresses: dict[str, str]) -> dict[str, set[int]]:
    return {
        name: {client.get(address).status_code, client.post(address, {"title": "mine", "text": "mine"}).status_code}
        for name, address in addresses.items()
    }


def wrong(found: dict[str, set[int]], refusals: set[int]) -> dict[str, set[int]]:
    """The pages, but for those that anybody may open, that answer with something else than a refusal."""
    return {name: codes for name, codes in found.items() if name not in OPEN and not codes <= refusals}


def test_whoever_is_not_signed_in_finds_only_the_pages_of_the_sign_in(things: dict[str, Any]) -> None:
    before, client = stored(), Client()
    found = statuses(client, pages(things))
    assert len(found) > 120
    assert wrong(found, {302, 401, 403, 404, 405}) == {}
    assert stored() == before


@pytest.mark.parametrize("kind", ["none", "invented", "revoked", "disabled"])
def test_a_program_without_a_key_that_holds_reaches_nothing(
    kind: str, things: dict[str, Any], user: User, settings: Any
) -> None:
    key, words = ApiKey.make(user, "program")
    if kind == "revoked":
        key.revoked_at = timezone.now()
        key.save()
    if kind == "disabled":
        user.is_active = False
        user.save()
    bearer = "cs_invented" if kind == "invented" else words
    headers = {} if kind == "none" else {"Authorization": f"Bearer {bearer}"}
    before, client = stored(), Client()
    reached = {}
    models = [("get", "/v1/models"), ("get", "/v1/models/scripted")]
    calls = [("post", f"/v1/{call}") for call in CALLS]
    for method, address in [*operations(things), *models, *calls]:
        settings.ROOT_URLCONF = "conversations.gateway.urls" if address.startswith("/v1/") else "chatsite.urls"
        cache.clear()  # guesses are limited, which another test shows
        answer = getattr(client, method)(address, {}, content_type="application/json", headers=headers)
        reached[method, address] = answer.status_code
    assert len(reached) > 65 and {call: code for call, code in reached.items() if code != 401} == {}
    assert stored() == before


def test_a_person_finds_nothing_of_another_whose_ids_they_know(things: dict[str, Any]) -> None:
    mallory = User.objects.create_user("mallory", password=PASSWORD)
    _, words = ApiKey.make(mallory, "program")
    client, program = Client(), Client(headers={"Authorization": f"Bearer {words}"})
    client.force_login(mallory, backend=BACKEND)
    before = stored()
    theirs = {name: address for name, address in pages(things).items() if names_one(things, address)}
    assert len(theirs) > 60
    found = statuses(client, theirs)
    assert found.pop("delete_prompt") == {200, 405}, "a page whose prompt is gone shows the list without it"
    assert wrong(found, {400, 404, 405}) == {}
    asked = [one for one in operations(things) if names_one(things, one[1])]
    assert len(asked) > 35
    for method, address in asked:
        answer = getattr(program, method)(address, {}, content_type="application/json")
        assert answer.status_code in (400, 404), (method, address, answer.status_code)
        assert "Ports" not in answer.content.decode()
    after = stored()
    assert {name: rows for name, rows in after.items() if rows != before[name] and name != "ApiKey"} == {}


def names_one(things: dict[str, Any], address: str) -> bool:
    """Whether an address has the id of one of these things."""
    ids = ("pk", "message_id", "project_id", "entry_id", "compaction_id", "prompt_id")
    return any(str(things[name]) in address for name in ids)


def test_a_session_ends_with_the_account_and_the_administration_with_the_rank(things: dict[str, Any]) -> None:
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = Client()
    client.force_login(root, backend=BACKEND)
    admin = [reverse(f"admin:{name}") for name in ("index", "conversations_user_changelist", "auth_group_changelist")]
    admin += [reverse(name) for name in ("overview", "admin_site", "analytics")]
    assert {client.get(address).status_code for address in admin} == {200}
    User.objects.filter(pk=root.pk).update(is_staff=False, is_superuser=False)
    assert {client.get(address).status_code for address in admin} <= {302, 403}
    assert client.get("/").status_code == 200
    User.objects.filter(pk=root.pk).update(is_active=False)
    before = stored()
    found = statuses(client, pages(things))
    assert wrong(found, {302, 401, 403, 404, 405}) == {}
    assert stored() == before


def test_the_deployment_check_finds_nothing_behind_tls(settings: Any, client: Client) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 2_592_000
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.DEBUG, settings.SECRET_KEY = False, "k" * 30 + "a1B2c3D4e5F6g7H8i9J0" * 2
    call_command("check", deploy=True, fail_level="WARNING")
    assert client.get("/accounts/login/").headers["Location"] == "https://testserver/accounts/login/"
    assert client.get("/healthz").status_code in (200, 503)
    assert "max-age=2592000" in client.get("/accounts/login/", secure=True).headers["Strict-Transport-Security"]
    assert "unsafe" not in str(settings.SECURE_CSP)
