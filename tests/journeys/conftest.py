from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.journeys.site import Person, Site
from tests.llm_server import LlmServer

CHROMIUM = Path("/usr/bin/chromium")
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there: the journeys need Debian's package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def at_site(chromium: Browser, llm: LlmServer, tmp_path: Path) -> Iterator[Callable[..., Person]]:
    """A person in front of a new site, on a page with nothing done yet; its settings are the arguments."""
    with ExitStack() as open_:

        def person(*, window: int = 8_000, **settings: str) -> Person:
            site = open_.enter_context(Site(tmp_path, llm_url=llm.url, window=window, **settings))
            context = chromium.new_context(viewport={"width": 1280, "height": 860})
            open_.callback(context.close)
            context.set_default_timeout(15_000)
            return Person(context.new_page(), site)

        yield person


@pytest.fixture
def alice(at_site: Callable[..., Person]) -> Person:
    """Signed in, with no conversation yet."""
    person = at_site()
    person.sets_up()
    return person
