"""A proxy that signs people in: its header is believed from its address alone, and names one person at a time."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chatsite.addresses import user_in
from tests.faults.serving import Served, serving
from tests.journeys.site import ROOT

HEADER = "Remote-User"


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("proxy")
    with serving(folder, TRUSTED_USER_HEADER=HEADER, FORWARDED_ALLOW_IPS="127.0.0.1") as served:
        yield served


def rows(served: Served, query: str) -> list[Any]:
    with closing(sqlite3.connect(served.site.data / "chatsite.sqlite3", timeout=10)) as database:
        found = database.execute(query).fetchall()
        database.commit()
        return found


def person_at(client: httpx2.Client, **headers: str) -> str:
    """The name that the settings page shows; "" where the sign-in page comes."""
    page = client.get("/settings/", headers=headers, follow_redirects=False)
    if page.status_code == 302:
        assert page.headers["Location"].startswith("/accounts/login/")
        return ""
    shown = re.findall(r">\s*([\w@.+-]+)\s*</", page.text)
    return next(name for name in ("alice", "nora@example.org", "otto", "gone") if name in shown)


def client_of(served: Served) -> httpx2.Client:
    return httpx2.Client(base_url=served.site.url, timeout=30)


def test_the_name_in_the_header_is_the_person_and_has_an_account_from_the_first_visit(behind: Served) -> None:
    with client_of(behind) as browser:
        assert person_at(browser) == ""
        assert person_at(browser, **{HEADER: "nora@example.org"}) == "nora@example.org"
        first = browser.cookies["sessionid"]
        assert person_at(browser, **{HEADER: "nora@example.org"}) == "nora@example.org"
        assert browser.cookies["sessionid"] == first, "she is signed in once"
        assert person_at(browser) == "", "a request of the proxy without a name is nobody's"
        assert person_at(browser, **{HEADER: "otto"}) == "otto"
        assert browser.cookies["sessionid"] != first
    made = rows(
        behind, "SELECT username, is_staff, is_superuser FROM auth_user WHERE username IN ('nora@example.org', 'otto')"
    )
    assert made == [("nora@example.org", 0, 0), ("otto", 0, 0)]


def test_two_headers_a_name_that_cannot_be_one_and_a_disabled_account_let_nobody_in(behind: Served) -> None:
    with client_of(behind) as browser:
        twice = [(HEADER, "alice"), (HEADER, "mallory")]
        assert browser.get("/settings/", headers=twice, follow_redirects=False).status_code == 302
        for name in ("a b", "x" * 151, "<b>"):
            refused = browser.get("/settings/", headers={HEADER: name}, follow_redirects=False)
            assert refused.status_code == 403 and "no account with the name" in refused.text
        assert person_at(browser, **{HEADER: "gone"}) == "gone"
        rows(behind, "UPDATE auth_user SET is_active = 0 WHERE username = 'gone'")
        refused = browser.get("/settings/", headers={HEADER: "gone"}, follow_redirects=False)
        assert refused.status_code == 403 and "disabled" in refused.text


def test_a_key_needs_no_name(behind: Served) -> None:
    with client_of(behind) as program:
        answer = program.get("/api/conversations", headers={"Authorization": f"Bearer {behind.key}"})
        assert answer.status_code == 200


def test_the_header_of_any_other_address_is_no_sign_in(tmp_path: Path) -> None:
    with (
        serving(tmp_path, TRUSTED_USER_HEADER=HEADER, FORWARDED_ALLOW_IPS="10.9.8.7") as served,
        client_of(served) as browser,
    ):
        assert person_at(browser, **{HEADER: "alice"}) == ""
        assert person_at(browser, **{HEADER: "alice", "X-Forwarded-For": "10.9.8.7"}) == ""


@pytest.mark.parametrize("proxies", ["", "*", "10.0.0.1, 0.0.0.0/0"])
def test_everybody_is_no_proxy(behind: Served, proxies: str) -> None:
    environment = behind.site.environment | {"TRUSTED_USER_HEADER": HEADER, "FORWARDED_ALLOW_IPS": proxies}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and "TRUSTED_USER_HEADER needs FORWARDED_ALLOW_IPS" in done.stderr


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([], ""),
        ([(b"remote-user", b" ada ")], "ada"),
        ([(b"remote-user", "zoë".encode())], "zoë"),
        ([(b"remote-user", b"")], ""),
        ([(b"remote-user", b"ada"), (b"remote-user", b"ada")], ""),
        ([(b"remote_user", b"ada")], ""),
    ],
)
def test_one_header_names_one_person(headers: list[tuple[bytes, bytes]], name: str, settings: Any) -> None:
    settings.TRUSTED_USER_HEADER = HEADER
    assert user_in(headers) == name
