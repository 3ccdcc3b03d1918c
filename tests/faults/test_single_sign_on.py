"""Sign-in by a server of OpenID Connect, over real connections."""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialLogin

from chatsite.sign_in_services import Service
from conversations.checks import check_settings
from conversations.page.account_adapters import SingleSignOnAdapter
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
        "GITLAB_URL": oidc.url,
        "GITHUB_URL": oidc.url,
        **{f"{name}_CLIENT_ID": CLIENT for name in ("GITLAB", "GITHUB", "GOOGLE")},
        **{f"{name}_CLIENT_SECRET": SECRET for name in ("GITLAB", "GITHUB", "GOOGLE")},
        "OIDC_DOMAINS": "example.org",
    }
    with LoudSite(folder, llm_url="http://127.0.0.1:9/v1", **settings) as site:
        with closing(sqlite3.connect(folder / "chatsite.sqlite3")) as database:
            database.execute("UPDATE auth_user SET is_superuser = 1 WHERE username = 'alice'")
            database.commit()
        yield site


def came_back(
    site: LoudSite, oidc: OidcServer, *, at: str = "/accounts/oidc/sso/login/", **claims: Any
) -> tuple[httpx2.Client, httpx2.Response]:
    """A browser that went to the service, signed in there as this person, and came back."""
    oidc.person = BOB | claims
    browser = httpx2.Client(base_url=site.url)
    page = browser.get("/accounts/login/")
    assert "Sign in with Example SSO" in page.text
    away = browser.get(f"{at}?next=/settings/").headers["Location"]
    assert away.startswith(oidc.url) and "/authorize?" in away
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


def test_the_large_services_are_offered_by_name_and_sign_people_in(site: LoudSite, oidc: OidcServer) -> None:
    page = httpx2.get(site.url + "/accounts/login/").text
    names = ("Example SSO", "GitHub", "GitLab", "Google")
    assert [f"Sign in with {name}" in page for name in names] == [True] * 4 and "Sign in with Microsoft" not in page
    browser, back = came_back(site, oidc, at="/accounts/oidc/gitlab/login/", sub="50", preferred_username="gil")
    assert back.headers["Location"] == "/settings/" and ">gil<" in browser.get("/settings/").text
    emails = [{"email": "hub@example.org", "primary": True, "verified": True}]
    browser, back = came_back(site, oidc, at="/accounts/github/login/", id=51, login="hub", emails=emails)
    assert back.headers["Location"] == "/settings/" and ">hub<" in browser.get("/settings/").text
    emails = [{"email": "eve@example.org", "primary": True, "verified": False}]
    browser, back = came_back(site, oidc, at="/accounts/github/login/", id=52, login="eve", emails=emails)
    assert browser.get("/settings/").status_code == 302


def service(id: str, url: str, *, secret: str = SECRET) -> Service:
    return Service(id, id.title(), url, CLIENT, secret, "OIDC" if id == "sso" else id.upper())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("id", "url", "email", "verified", "domains", "sign_up", "expected"),
    [
        ("google", "https://accounts.google.com", "eve@gmail.com", True, [], "invited", False),
        ("sso", "https://accounts.google.com", "eve@gmail.com", True, [], "invited", False),
        ("google", "https://accounts.google.com", "eve@gmail.com", True, [], "open", True),
        ("google", "https://accounts.google.com", "bob@example.org", True, ["example.org"], "invited", True),
        ("google", "https://accounts.google.com", "eve@gmail.com", True, ["example.org"], "open", False),
        ("gitlab", "https://git.example.org", "bob@example.org", False, [], "invited", True),
        ("microsoft", "https://login.microsoftonline.com/t/v2.0", "bob@x.org", False, ["example.org"], "invited", True),
        ("github", "https://github.com", "bob@example.org", False, ["example.org"], "open", False),
    ],
)
def test_who_gets_an_account(
    id: str,
    url: str,
    email: str,
    verified: bool,
    domains: list[str],
    sign_up: str,
    expected: bool,
    settings: Any,
    admin_user: Any,
    rf: Any,
) -> None:
    settings.SIGN_IN_SERVICES, settings.OIDC_DOMAINS, settings.SIGN_UP = [service(id, url)], domains, sign_up
    login = SocialLogin(
        account=SocialAccount(provider=id), email_addresses=[EmailAddress(email=email, verified=verified)]
    )
    assert SingleSignOnAdapter().is_open_for_signup(rf.get("/"), login) is expected
    login.account.provider = "another"
    assert not SingleSignOnAdapter().is_open_for_signup(rf.get("/"), login)


@pytest.mark.parametrize(
    ("faulty", "expected"),
    [
        (service("sso", "https://sso.example.org", secret=""), "OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_URL"),
        (service("sso", "sso.example.org"), "addresses begin with https://"),
        (service("github", "https://github.com", secret=""), "GITHUB_CLIENT_SECRET"),
        (service("microsoft", ""), "MICROSOFT_TENANT"),
        (
            service("microsoft", "https://login.microsoftonline.com/common/v2.0"),
            "MICROSOFT_TENANT must name the tenant",
        ),
        (service("sso", "https://login.microsoftonline.com/organizations/v2.0"), "OIDC_URL must name the tenant"),
    ],
)
def test_a_service_that_is_set_up_in_part_prevents_the_start(faulty: Service, expected: str, settings: Any) -> None:
    settings.SIGN_IN_SERVICES = [service("sso", "https://sso.example.org/realms/common")]
    assert not check_settings()
    settings.SIGN_IN_SERVICES = [faulty]
    assert [expected in error.msg for error in check_settings()] == [True]
