from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import furnishing
from tests.journeys.site import Person, Site, Town
from tests.llm_server import LlmServer
from tests.needs import CHROMIUM, found_or_skip

expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = found_or_skip(CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def one_llm() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def llm(one_llm: LlmServer) -> LlmServer:
    """The model server of all journeys, with nothing of an earlier one."""
    one_llm.clear()
    return one_llm


@pytest.fixture(scope="session")
def town(one_llm: LlmServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A site that many tests share, each as a person of its own."""
    data = tmp_path_factory.mktemp("town")
    furnishing.migrate(data)
    with Town(data, llm_url=one_llm.url, SHARED_PROJECTS="on") as site:
        yield site


@pytest.fixture
def at_site(chromium: Browser, llm: LlmServer, tmp_path: Path) -> Iterator[Callable[..., Person]]:
    """A person in front of a new site, on a page with nothing done yet; its settings are the arguments."""
    with ExitStack() as open_:

        def person(*, window: int = 8_000, **settings: str) -> Person:
            furnishing.migrate(tmp_path)
            site = open_.enter_context(Site(tmp_path, llm_url=llm.url, window=window, **settings))
            return Person(open_.enter_context(page_of(chromium)), site)

        yield person


@pytest.fixture
def alice(chromium: Browser, llm: LlmServer, town: Town) -> Iterator[Person]:
    """Signed in, with no conversation yet; nothing of hers goes on when the test ends."""
    name, session = town.next_person()
    with page_of(chromium) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": town.url}])
        person = Person(page, town, name=name)
        page.goto(town.url)
        yield person
    llm.clear()
    town.settles()


@pytest.fixture
def grace(chromium: Browser, llm: LlmServer, town: Town) -> Iterator[Person]:
    """Another person of alice's site, in a browser of her own."""
    name, session = town.next_person()
    with page_of(chromium) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": town.url}])
        page.goto(town.url)
        yield Person(page, town, name=name)


@contextmanager
def page_of(chromium: Browser, *, has_worker: bool = False) -> Iterator[Page]:
    """A new page in a browser that remembers nothing; the site's service worker is a matter of its own tests."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    if not has_worker:
        context.add_init_script("delete Navigator.prototype.serviceWorker")
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()
