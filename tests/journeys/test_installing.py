"""The site as an app: it can be installed, and says so where it cannot be reached."""

from __future__ import annotations

import json
import struct
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.conftest import page_of
from tests.journeys.site import Town

pytestmark = pytest.mark.browser


def test_the_manifest_names_icons_of_their_sizes(town: Town) -> None:
    manifest = json.loads(urlopen(f"{town.url}/manifest.json").read())
    assert (manifest["name"], manifest["start_url"], manifest["display"]) == ("chatsite", "/", "standalone")
    for icon in manifest["icons"]:
        data = urlopen(town.url + icon["src"]).read()
        width, height = struct.unpack(">II", data[16:24])
        assert icon["sizes"] == f"{width}x{height}"


def test_a_page_that_cannot_be_reached_says_so_and_opens_once_it_can(chromium: Browser, town: Town) -> None:
    _, session = town.next_person()
    with page_of(chromium, has_worker=True) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": town.url}])
        page.goto(town.url)
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.reload()
        page.context.set_offline(True)
        page.goto(f"{town.url}/usage/")
        expect(page.get_by_role("heading", name="The site cannot be reached")).to_be_visible()
        expect(page.locator(".card")).to_have_css("width", "400px")
        page.context.set_offline(False)
        page.get_by_role("link", name="Try again").click()
        expect(page.get_by_role("heading", name="Usage")).to_be_visible()
        kept = page.evaluate("caches.open('offline-1').then(async (kept) => (await kept.keys()).map((one) => one.url))")
        assert sorted(url.removeprefix(town.url) for url in kept) == [
            "/offline",
            "/static/chat.css",
            "/static/favicon.svg",
        ], "nothing of a person is kept"
