"""What rights do not give: others' rights, others' secrets, and the rights of the site's own user."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client, RequestFactory

from conversations.models import ModelProfile, User
from conversations.ops import first_account
from conversations.runtime import private_files
from tests.conversations.page.test_views_account import ACCOUNT
from tests.journeys.site import ROOT

PEOPLE, PROFILES = "/admin/conversations/user/", "/admin/conversations/modelprofile/"
PASSWORD = "correct horse battery"


@pytest.fixture
def staff(db: None) -> User:
    """Who may do all that permissions allow."""
    staff = User.objects.create_user("staff", password=PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    return staff


@pytest.fixture
def client(staff: User) -> Client:
    client = Client()
    client.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
    return client


def person(who: User, **changes: Any) -> dict[str, Any]:
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    return {"username": who.username, "is_active": "on", **joined} | changes


def test_who_may_change_people_makes_nobody_an_administrator(client: Client, staff: User) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    group = Group.objects.create(name="all")
    grants = {"is_staff": "on", "is_superuser": "on", "groups": [group.pk], "user_permissions": [1]}
    for who in (staff, bob):
        response = client.post(f"{PEOPLE}{who.pk}/change/", person(who, **grants, first_name="changed"))
        assert response.status_code == 302
        who.refresh_from_db()
        assert who.first_name == "changed"
        assert not who.is_superuser and not who.groups.exists()
    assert not bob.is_staff and not bob.user_permissions.exists()
    assert client.post("/admin/auth/group/add/", {"name": "mine", "permissions": [1]}).status_code == 403
    assert client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "x", "permissions": [1]}).status_code == 403


@pytest.mark.parametrize("above", ["root", "other"])
def test_administrators_are_above_who_may_change_people(client: Client, above: str) -> None:
    root = User.objects.create_user(above, password=PASSWORD, is_staff=True, is_superuser=above == "root")
    new = {"password1": "another horse battery", "password2": "another horse battery", "usable_password": "true"}
    assert client.post(f"{PEOPLE}{root.pk}/password/", new).status_code == 403
    assert client.post(f"{PEOPLE}{root.pk}/change/", person(root, username="mine")).status_code == 403
    assert client.post(f"{PEOPLE}{root.pk}/delete/", {"post": "yes"}).status_code == 403
    deletion = {"action": "delete_selected", "_selected_action": [root.pk], "post": "yes"}
    client.post(PEOPLE, deletion)
    root.refresh_from_db()
    assert root.username == above and root.check_password(PASSWORD)


def test_a_superuser_gives_rights(client: Client, staff: User) -> None:
    root, bob = User.objects.create_superuser("root", password=PASSWORD), User.objects.create_user("bob")
    client.force_login(root, backend="django.contrib.auth.backends.ModelBackend")
    client.post(f"{PEOPLE}{bob.pk}/change/", person(bob, is_staff="on", is_superuser="on"))
    bob.refresh_from_db()
    assert bob.is_staff and bob.is_superuser


@pytest.mark.parametrize(
    "changes", [{"base_url": "https://evil.example/v1"}, {"provider": "anthropic"}, {"base_url": ""}]
)
def test_a_key_goes_to_no_other_address_than_it_was_entered_for(client: Client, changes: dict[str, str]) -> None:
    profile = ModelProfile.objects.create(name="m", model_id="m", base_url="https://good.example/v1", api_key="sk-1")
    now = {name: getattr(profile, name) for name in ("name", "provider", "model_id", "base_url", "window", "role")}
    path = f"{PROFILES}{profile.pk}/change/"
    page = client.post(path, now | {"api_key": ""} | changes).content.decode()
    assert "enter the key for it again" in page and "sk-1" not in page
    profile.refresh_from_db()
    assert (profile.base_url, profile.provider) == ("https://good.example/v1", "openai")
    assert client.post(path, now | {"api_key": "", "name": "other"}).status_code == 302
    assert client.post(path, now | {"api_key": "sk-2"} | changes).status_code == 302
    profile.refresh_from_db()
    assert profile.api_key == "sk-2"


def test_the_first_account_needs_the_token(db: None, setup_token: str) -> None:
    client = Client()
    assert "Token" in client.get("/setup/").content.decode()
    for given in ({}, {"token": "wrong"}, {"token": ""}):
        assert client.post("/setup/", ACCOUNT | given).status_code == 422
    assert not User.objects.exists()
    assert stat.S_IMODE(first_account._file().stat().st_mode) == 0o600
    assert f"/setup/?token={setup_token}" in first_account.invitation("http://chat.example")
    assert f'value="{setup_token}"' in client.get(f"/setup/?token={setup_token}").content.decode()
    assert client.post("/setup/", ACCOUNT | {"token": setup_token}).status_code == 302
    assert not first_account._file().exists() and first_account.invitation("") == ""


@pytest.mark.parametrize(
    ("headers", "behind_tls", "needed"),
    [
        ({"host": "127.0.0.1:8000"}, False, False),
        ({"host": "localhost"}, False, False),
        ({"host": "[::1]:8000"}, False, False),
        ({"host": "chat.example"}, False, True),
        ({"host": "127.0.0.1", "x-forwarded-for": "192.0.2.1"}, False, True),
        ({"host": "127.0.0.1", "forwarded": "for=192.0.2.1"}, False, True),
        ({"host": "127.0.0.1"}, True, True),
    ],
)
def test_no_token_only_where_nobody_else_can_ask(
    settings: Any, headers: dict[str, str], behind_tls: bool, needed: bool
) -> None:
    settings.ALLOWED_HOSTS, settings.BEHIND_TLS = ["*"], behind_tls
    settings.LISTENS_ON_LOOPBACK = True
    assert first_account.needs_token(RequestFactory(headers=headers).get("/setup/")) is needed
    settings.LISTENS_ON_LOOPBACK = False
    assert first_account.needs_token(RequestFactory(headers=headers).get("/setup/"))


@pytest.mark.long
def test_what_the_site_keeps_is_its_users_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "old").mkdir(parents=True)
    old = data / "old" / "file"
    old.write_text("kept")
    for place in (data, data / "old", old):
        place.chmod(0o755)
    environment = os.environ | {"DATA_DIR": str(data), "DJANGO_SETTINGS_MODULE": "chatsite.settings"}
    environment.pop("SECRET_KEY", None)
    environment.pop("DATABASE_URL", None)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=environment, check=True)
    found = {str(place.relative_to(data)): stat.S_IMODE(place.stat().st_mode) for place in data.rglob("*")}
    assert {"chatsite.sqlite3", "secret_key", "old/file"} <= found.keys()
    assert not {name: oct(mode) for name, mode in found.items() if mode & 0o077}
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_no_commit_takes_in_a_new_data_folder(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    private_files.make_folder(tmp_path / "data")
    private_files.read_or_make_secret(tmp_path / "data" / "secret_key")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("kept")
    private_files.make_folder(mine)
    said = subprocess.run(["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == "?? mine/\n"
