"""Pages that lose their socket again and again while their conversation changes show the same as a page loaded afresh.

`PAGES` and `RECONNECTS` (of each page) set how many; `SEED` chooses other acts.
"""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.journeys.site import Person, long_conversation
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser
PAGES = int(os.environ.get("PAGES", "1"))
RECONNECTS = int(os.environ.get("RECONNECTS", "4"))
SEED = int(os.environ.get("SEED", "1"))
LOST = 1012
"""The close code of a server that is started anew: htmx connects again."""
SHOWN = """() => {
    const words = (element) => element?.innerText.replace(/\\s+/g, " ").trim() ?? null;
    // What Compact would free is asked for once its place is seen.
    const sees = document.querySelector("#model-sees").textContent.replace(/\\s+/g, " ");
    const items = Array.from(document.querySelectorAll("#thread > [id], #thread > .compaction-divider"));
    return {
        items: items.filter(({ id }) => id !== "version").map((item) => [
            item.id, item.dataset.role, item.dataset.status, item.dataset.state, item.dataset.work, words(item),
        ]),
        title: words(document.querySelector(".head h1")),
        meter: words(document.querySelector("#context-meter")),
        sees: sees.replace(/Compact now (frees|would)[^.]*\\.|…/g, "").replace(/\\s+/g, " ").trim(),
        model: words(document.querySelector("#switch-label")),
        alert: words(document.querySelector("#notice")),
        composer: document.querySelector("#composer textarea").disabled,
        pills: words(document.querySelector("#pills")),
    };
}"""


class Hand:
    """Changes a conversation over the API, as another program of the same person does."""

    def __init__(self, page: Page, url: str, random: Random) -> None:
        self.page, self.url, self.random = page, url, random
        self.id = page.url.rstrip("/").rsplit("/", 1)[1]
        self.count = 0
        self.changes = 0

    def ask(self, method: str, path: str, body: object = None) -> Any:
        token = next(one["value"] for one in self.page.context.cookies() if one["name"] == "csrftoken")
        headers = {"X-CSRFToken": token, "Referer": self.url}
        answer = self.page.request.fetch(f"{self.url}/api/{path}", method=method, headers=headers, data=body)
        self.changes += answer.ok and method != "GET"
        return answer.json() if answer.ok and answer.status != 204 else None

    def messages(self, role: str) -> list[Any]:
        listed = self.ask("GET", f"conversations/{self.id}/messages?limit=100")["items"]
        return [one for one in listed if one.get("role") == role]

    def act(self) -> str:
        """Do one thing by chance, which may be refused in the present state."""
        acts = [self.says, self.says, self.says, self.edits, self.regenerates, self.protects, self.compacts,
                self.undoes, self.renames, self.uses, self.instructs, self.aims, self.thinks]  # fmt: skip
        act = self.random.choice(acts)
        act()
        return act.__name__

    def says(self) -> None:
        self.count += 1
        content = f"Note {self.count}: host-{self.random.randrange(10**6)} goes on. " + "It is so. " * 60
        self.ask("POST", f"conversations/{self.id}/messages", {"content": content})

    def edits(self) -> None:
        if asked := self.messages("user"):
            id = self.random.choice(asked[-3:])["id"]
            self.ask("POST", f"conversations/{self.id}/messages/{id}/edit", {"content": f"Asked anew {self.count}"})

    def regenerates(self) -> None:
        if replies := self.messages("assistant"):
            self.ask("POST", f"conversations/{self.id}/messages/{replies[-1]['id']}/regenerate")

    def uses(self) -> None:
        if replies := self.messages("assistant"):
            self.ask("POST", f"conversations/{self.id}/messages/{replies[-1]['id']}/use", {"version": 1})

    def protects(self) -> None:
        if asked := self.messages("user"):
            message = self.random.choice(asked[-8:])
            changed = {"is_protected": not message["is_protected"]}
            self.ask("PATCH", f"conversations/{self.id}/messages/{message['id']}", changed)

    def compacts(self) -> None:
        self.ask("POST", f"context/{self.id}/compact", {})

    def undoes(self) -> None:
        self.ask("POST", f"context/{self.id}/rollback", {})

    def instructs(self) -> None:
        self.count += 1
        self.ask("PATCH", f"conversations/{self.id}", {"system_prompt": f"Answer in {self.count} words. " * 20})

    def aims(self) -> None:
        self.count += 1
        self.ask("PUT", f"conversations/{self.id}/goal", {"text": f"Goal {self.count}"})

    def thinks(self) -> None:
        effort = self.random.choice(["low", "high", ""])
        self.ask("PATCH", f"conversations/{self.id}", {"effort": effort})

    def renames(self) -> None:
        self.count += 1
        self.ask("PATCH", f"conversations/{self.id}", {"title": f"Title {self.count}"})


def test_a_page_that_reconnects_shows_what_a_page_shows_that_is_loaded_afresh(alice: Person, llm: LlmServer) -> None:
    random = Random(SEED)
    for _ in range(PAGES):
        page = alice.page.context.new_page()
        sockets: list[WebSocketRoute] = []
        page.route_web_socket("**/ws/conversations/**", lambda socket, to=sockets: to.append(_passed_on(socket)))
        person = Person(page, alice.site)
        person.imports(long_conversation(20))
        expect(page.locator("#thread")).to_be_visible()
        hand = Hand(page, alice.site.url, random)
        fresh = alice.page.context.new_page()
        for reconnect in range(RECONNECTS):
            done = [hand.act()]
            with suppress(Exception):
                sockets[-1].close(code=LOST)
            done += [hand.act() for _ in range(random.randrange(4))]
            _same(page, fresh, f"reconnect {reconnect}: {done}")
        assert hand.changes > RECONNECTS / 2
        page.close()
        fresh.close()


def _passed_on(socket: WebSocketRoute) -> WebSocketRoute:
    socket.connect_to_server()
    return socket


def _same(page: Page, fresh: Page, what: str) -> None:
    """Wait until the page shows what one shows that is loaded afresh."""
    now: dict[str, Any] = {}
    then: dict[str, Any] = {}
    for _ in range(40):
        fresh.goto(page.url)
        then, now = fresh.evaluate(SHOWN), page.evaluate(SHOWN)
        if then == now and not any("streaming" in map(str, item) for item in then["items"]):
            return
        page.wait_for_timeout(500)
    for name in then:
        assert now[name] == then[name], f"{what}: {name}"
    raise AssertionError(f"{what}: it never came to rest")
