"""A passkey that is added in the page, signs in without a password, and is removed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import PASSWORD, Person

pytestmark = pytest.mark.browser


def test_a_passkey_is_added_signs_in_confirms_and_is_removed(alice: Person) -> None:
    page = alice.page
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    device = devices.send("WebAuthn.addVirtualAuthenticator", {"options": {**kind, "isUserVerified": True}})
    here = alice.site.url.replace("127.0.0.1", "localhost")  # browsers keep passkeys for names, not for addresses

    page.goto(here + "/accounts/login/")
    page.get_by_label("Username").fill(alice.name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    alice.opens("Settings")
    page.get_by_role("link", name="Two-step sign-in and passkeys").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Name").fill("Pocket key")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.get_by_role("link", name="Done").click()
    expect(page.locator(".browsers")).to_contain_text("Pocket key")

    page.context.clear_cookies()
    page.goto(here + "/accounts/login/?next=/settings/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page).to_have_url(here + "/settings/")

    page.context.clear_cookies()
    page.goto(here + "/accounts/login/")
    page.get_by_label("Username").fill(alice.name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page).to_have_url(here + "/")

    page.goto(here + "/accounts/2fa/")
    page.get_by_role("link", name="Remove Pocket key").click()
    page.get_by_role("link", name="Use a passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("It is off.")).to_be_visible()

    page.context.clear_cookies()
    page.goto(here + "/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey did not work.")).to_be_visible()
    devices.send("WebAuthn.clearCredentials", device)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("Your browser gave no passkey.")).to_be_visible()
    devices.send("WebAuthn.removeVirtualAuthenticator", device)
    assert alice.complaints == []


def test_a_page_at_an_address_offers_no_passkeys(alice: Person) -> None:
    page = alice.page
    page.goto(alice.site.url + "/accounts/2fa/passkeys/add/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("Passkeys do not work here.")).to_be_visible()
    expect(page.get_by_role("button", name="Add a passkey")).to_be_hidden()
