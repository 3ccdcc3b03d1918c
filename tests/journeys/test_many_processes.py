"""One person, two web processes and a worker: what is asked for at one is seen at the other."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cluster import Cluster
from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer
from tests.servers import Redis, postgres, redis

pytestmark = pytest.mark.browser


@dataclass
class Pair:
    """The same person in front of both processes, with the same conversation open."""

    cluster: Cluster
    redis: Redis
    first: Person
    second: Person

    def opens_both(self) -> None:
        path = self.first.page.url.removeprefix(self.first.site.url)
        self.second.page.goto(self.second.site.url + path)
        expect(self.second.box).to_be_enabled()


@dataclass
class Door:
    """As much of a site as a person needs to know."""

    url: str


@pytest.fixture
def pair(chromium: Browser, llm: LlmServer, tmp_path: Path) -> Iterator[Pair]:
    with (
        postgres() as database_url,
        redis() as server,
        Cluster(
            tmp_path, database_url=database_url, redis_url=server.url, llm_url=llm.url, workers=1, LEASE_SECONDS="4"
        ) as cluster,
    ):
        context = chromium.new_context(viewport={"width": 1280, "height": 860})
        context.set_default_timeout(15_000)
        people = [Person(context.new_page(), Door(cluster.url(name))) for name in cluster.ports]  # type: ignore[arg-type]
        people[0].sets_up(token=(cluster.folder / "setup_token").read_text().strip())
        yield Pair(cluster, server, *people)
        context.close()
        for name in cluster.ports:  # Celery writes a traceback of its own when its broker goes away
            assert "Traceback" not in cluster.log(name), cluster.log(name)


def test_a_reply_is_seen_stopped_and_folded_from_another_process(pair: Pair, llm: LlmServer) -> None:
    first, second = pair.first, pair.second
    first.imports(long_conversation(30))
    pair.opens_both()

    llm.enqueue("one two three four five six", drip=0.3)
    first.says("Count, please.")
    expect(second.replies.last).to_contain_text("one two")
    expect(second.replies.last).not_to_contain_text("six")
    second.is_answered("one two three four five six")
    first.is_answered("one two three four five six")

    llm.enqueue("on and on " * 200, drip=0.05)
    first.says("Now without an end.")
    expect(second.replies.last).to_contain_text("on and on")
    late = opened_late(second)
    expect(late.locator("#thread .message[data-role=assistant]").last).to_contain_text("on and on")
    late.close()
    second.page.locator("#stop").click()
    for person in (first, second):
        expect(person.replies.last).to_have_attribute("data-status", "stopped")
        expect(person.replies.last).to_contain_text("on and on")

    llm.summary_takes(seconds=1)
    second.page.locator("#compact").click()
    for person in (first, second):
        expect(person.status).to_contain_text("Compressing context…")
        expect(person.box).to_be_disabled()
    for person in (first, second):
        expect(person.page.locator(".compaction-divider")).to_contain_text("messages compacted")
        expect(person.box).to_be_enabled()
    assert first.complaints == second.complaints == []


def opened_late(person: Person) -> Page:
    """The same page once more, opened while a reply is being written by a process that it never heard of."""
    page = person.page.context.new_page()
    page.goto(person.page.url)
    return page


@pytest.mark.long
def test_pages_converge_whatever_dies(pair: Pair, llm: LlmServer) -> None:
    first, second = pair.first, pair.second
    first.begins()
    pair.opens_both()
    pair.redis.stop()
    llm.enqueue("Said while Redis was away.")
    first.says("Anyone?")
    pair.redis.start()
    for person in (first, second):
        person.is_answered("Said while Redis was away.", seconds=40)

    llm.enqueue("one two three " * 100, drip=0.2)
    first.says("And now?")
    expect(second.replies.last).to_contain_text("one two three " * 5)  # longer than it takes to be kept
    pair.cluster.kill("worker0")
    pair.cluster.start("worker0")
    for person in (first, second):
        expect(person.replies.last).to_have_attribute("data-status", "interrupted", timeout=40_000)
        expect(person.replies.last).to_contain_text("one two three")

    llm.enqueue("never heard", delay=30)
    llm.enqueue("Begun anew.")
    asked = len(llm.chats)
    first.says("And this?")
    llm.wait_for(lambda server: len(server.chats) > asked)
    pair.cluster.kill("worker0")
    pair.cluster.start("worker0")
    for person in (first, second):
        person.is_answered("Begun anew.", seconds=40)

    pair.cluster.kill("web1", signal.SIGTERM)
    llm.enqueue("Said while the other process was away.")
    first.says("Still there?")
    first.is_answered("Said while the other process was away.")
    pair.cluster.start("web1")
    second.is_answered("Said while the other process was away.", seconds=40)
