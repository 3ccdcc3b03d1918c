"""Sign-in by a server of OpenID Connect, over real connections."""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest

from conversations.checks import check_settings
from tests.faults.oidc_server import CLIENT, SECRET, OidcServer
from tests.faults.serving import LoudSite
from tests.furnishing import furnish

pytestmark = pytest.mark.once

BOB: dict[str, Any] = {"sub": "42", "preferred_username": "bob", "email": "bob@example.org", "email_verified": True}


@pytest.fixture(scope="module")
def oidc() -> Iterator[OidcServer]:
    with OidcServer() as server:
        yield server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, oidc: OidcServer) -> Iterator[LoudSite]:
    folder = tmp_path_factory.mktemp("sso")
    furnish(folder)
    settings = {
        "OIDC_URL": oidc.url,
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": SECRET,
        "OIDC_NAME": "Example SSO",
        "OIDC_DOMAINS": "example.org",
    }
    with LoudSite(folder, llm_url="http://127.0.0.1:9/v1", **settings) as site:
        with closing(sqlite3.connect(folder / "chatsite.sqlite3")) as database:
            database.execute("UPDATE auth_user SET is_superuser = 1 WHERE username = 'alice'")
            database.commit()
        yield site


def came_back(site: LoudSite, oidc: OidcServer, **claims: Any) -> tuple[httpx2.Client, httpx2.Response]:
    """A browser that went to the service, signed in there as this person, and came back."""
    oidc.person = BOB | claims
    browser = httpx2.Client(base_url=site.url)
    page = browser.get("/accounts/login/")
    assert "Sign in with Example SSO" in page.text
    away = browser.get("/accounts/oidc/sso/login/?next=/settings/").headers["Location"]
    assert away.startswith(f"{oidc.url}/authorize?")
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(away).query))
    assert asked["client_id"] == CLIENT and asked["code_challenge_method"] == "S256" and SECRET not in away
    path = urllib.parse.urlsplit(asked["redirect_uri"]).path
    return browser, browser.get(path, params={"code": "c", "state": asked["state"]})


def test_a_person_of_the_service_gets_an_account_and_has_it_the_next_time(site: LoudSite, oidc: OidcServer) -> None:
    for _ in range(2):
        browser, back = came_back(site, oidc)
        assert back.status_code == 302 and back.headers["Location"] == "/settings/"
        page = browser.get("/settings/").text
        assert 'value="bob"' not in page and "have no password here" in page and ">bob<" in page
    assert oidc.exchanges[-1]["client_secret"] == SECRET and oidc.exchanges[-1]["code_verifier"]
    with closing(sqlite3.connect(site.data / "chatsite.sqlite3")) as database:
        rows = database.execute("SELECT username, is_staff, is_superuser FROM auth_user WHERE username LIKE 'bob%'")
        assert rows.fetchall() == [("bob", 0, 0)]
    assert SECRET not in (site.data / "serve.log").read_text()


def test_a_name_that_is_taken_gives_no_way_into_that_account(site: LoudSite, oidc: OidcServer) -> None:
    browser, back = came_back(site, oidc, sub="43", preferred_username="alice", email="alice@example.org")
    assert back.status_code == 302
    page = browser.get("/settings/").text
    assert ">alice<" not in page and "/admin/" not in page


@pytest.mark.parametrize(
    "claims", [{"email": "eve@elsewhere.org"}, {"email_verified": False}, {"email": "eve@example.org.evil.org"}]
)
def test_others_get_no_account(site: LoudSite, oidc: OidcServer, claims: dict[str, Any]) -> None:
    browser, back = came_back(site, oidc, sub="666", preferred_username="eve", **claims)
    page = browser.get(back.headers["Location"]) if back.is_redirect else back
    assert "may not make one" in page.text
    assert browser.get("/settings/").status_code == 302


def test_what_goes_wrong_there_is_said_and_signs_nobody_in(site: LoudSite, oidc: OidcServer) -> None:
    oidc.fails = True
    try:
        browser, back = came_back(site, oidc)
        assert back.status_code in (200, 401) and "refused, or did not answer" in back.text
    finally:
        oidc.fails = False
    forged = browser.get("/accounts/oidc/sso/login/callback/", params={"code": "c", "state": "forged"})
    assert "refused, or did not answer" in forged.text
    stopped = browser.get("/accounts/oidc/sso/login/callback/", params={"error": "access_denied", "state": "x"})
    assert stopped.status_code < 500
    assert browser.get("/settings/").status_code == 302
    assert browser.get("/accounts/oidc/other/login/").status_code == 404
    away = browser.get("/accounts/oidc/sso/login/?next=https://evil.example/")
    assert away.status_code == 302 and "evil" not in away.headers["Location"]


def test_a_disabled_person_and_a_link_from_elsewhere_are_refused(site: LoudSite, oidc: OidcServer) -> None:
    came_back(site, oidc, sub="45", preferred_username="dave", email="dave@example.org")
    with closing(sqlite3.connect(site.data / "chatsite.sqlite3")) as database:
        database.execute("UPDATE auth_user SET is_active = 0 WHERE username = 'dave'")
        database.commit()
    browser, back = came_back(site, oidc, sub="45", preferred_username="dave", email="dave@example.org")
    assert back.status_code == 403 and "This account is disabled." in back.text
    assert browser.get("/settings/").status_code == 302
    browser, _ = came_back(site, oidc)
    away = browser.get("/accounts/oidc/sso/login/?process=connect").headers["Location"]
    state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(away).query))["state"]
    oidc.person = BOB | {"sub": "46"}
    refused = browser.get("/accounts/oidc/sso/login/callback/", params={"code": "c", "state": state})
    assert refused.status_code == 401
    with closing(sqlite3.connect(site.data / "chatsite.sqlite3")) as database:
        assert not database.execute("SELECT 1 FROM socialaccount_socialaccount WHERE uid = '46'").fetchall()


def test_without_a_password_the_name_confirms_the_end_of_an_account(site: LoudSite, oidc: OidcServer) -> None:
    browser, _ = came_back(site, oidc, sub="44", preferred_username="carol", email="carol@example.org")
    page = browser.get("/accounts/delete/").text
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    headers = {"Referer": site.url, "X-CSRFToken": token}
    refused = browser.post("/accounts/delete/", data={"username": "bob"}, headers=headers)
    assert refused.status_code == 422 and "not your user name" in refused.text
    done = browser.post("/accounts/delete/", data={"username": "carol"}, headers=headers)
    assert done.status_code == 302 and browser.get("/settings/").status_code == 302


def test_a_service_without_its_client_prevents_the_start(settings: Any) -> None:
    settings.OIDC_URL = "https://sso.example.org"
    assert ["OIDC_CLIENT_ID and OIDC_CLIENT_SECRET" in error.msg for error in check_settings()] == [True]
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
    assert not check_settings()
    settings.OIDC_URL = "sso.example.org"
    assert ["OIDC_URL must begin" in error.msg for error in check_settings()] == [True]
