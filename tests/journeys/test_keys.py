"""A key for a program, made and revoked in the page."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person

pytestmark = pytest.mark.browser


def status_of(alice: Person, key: str) -> int:
    asked = urllib.request.Request(alice.site.url + "/api/conversations", headers={"Authorization": f"Bearer {key}"})
    try:
        return int(urllib.request.urlopen(asked, timeout=10).status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def test_a_key_is_made_copied_used_and_revoked(alice: Person) -> None:
    page = alice.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=alice.site.url)
    alice.opens("Settings")
    page.get_by_label("What the key is for").fill("backup")
    page.get_by_role("button", name="Make a key").click()
    shown = page.locator("#new-key")
    expect(shown).to_contain_text("cs_")
    page.locator(".made").get_by_role("button", name="Copy").click()
    expect(page.locator(".made").get_by_role("button", name="Copied")).to_be_visible()
    key = str(page.evaluate("navigator.clipboard.readText()"))
    assert key == shown.inner_text().strip()
    assert key not in page.url
    assert status_of(alice, key) == 200

    page.reload()
    assert key not in page.content()
    expect(page.locator(".keys")).to_contain_text("used just now")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Revoke backup").click()
    assert status_of(alice, key) == 200
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke backup").click()
    expect(page.locator(".keys .revoked")).to_contain_text("revoked")
    assert status_of(alice, key) == 401
    assert alice.complaints == []
