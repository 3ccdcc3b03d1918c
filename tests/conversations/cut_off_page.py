"""An open page without a browser: what it shows, and how it catches up after it was cut off.

It merges answers as htmx and `static/thread.js` do.
"""

from __future__ import annotations

from copy import deepcopy
from uuid import UUID

from lxml import html
from lxml.html import HtmlElement

from tests.conversations.pages import Pages

SWAP = "hx-swap-oob"
FORECAST = './/p[@hx-trigger="intersect" or starts-with(normalize-space(), "Compact now ")]'
"""The places of what Compact would free, which a page asks for once they are seen; the button's is `#frees`."""


class CutOffPage:
    """A conversation's page; `catch_up` does what it does when its socket opens again."""

    def __init__(self, pages: Pages, conversation: UUID) -> None:
        self.pages, self.conversation = pages, conversation
        self.thread: list[HtmlElement] = []
        self.parts: dict[str, str] = {}
        self.version = ""
        self.catch_up()

    def catch_up(self) -> None:
        answer = self.pages.get("thread", self.conversation, htmx=True, version=self.version)
        if answer.status_code == 204:
            return
        assert answer.status_code == 200
        for fragment in html.fragments_fromstring(answer.content.decode().strip()):
            if not isinstance(fragment, str):
                self._swap(fragment)

    @property
    def shown(self) -> dict[str, str]:
        """The markup of each part, by its id; the thread's are in its order."""
        thread = {f"{place} {item.get('id')}": _markup(item) for place, item in enumerate(self.thread)}
        return thread | self.parts

    def _swap(self, fragment: HtmlElement) -> None:
        how, _, target = fragment.attrib.pop(SWAP).partition(":")
        id = target.lstrip("#") or fragment.get("id")
        if id == "version":
            self.version = fragment.get("value")
        elif id == "frees":
            pass
        elif id != "thread":
            self.parts[id] = _markup(fragment)
        elif how == "beforeend":
            self._merge(list(fragment))
        else:
            self.thread = [item for item in fragment if item.get("id") != "version" and item.get("class") != "blank"]
            self.version = fragment.get_element_by_id("version").get("value")

    def _merge(self, messages: list[HtmlElement]) -> None:
        """Append new messages; a known one is replaced where it has another state by now."""
        places = {item.get("id"): place for place, item in enumerate(self.thread)}
        for message in messages:
            place = places.get(message.get("id"))
            if place is None:
                self.thread.append(message)
            elif _is_news(message, self.thread[place]):
                self.thread[place] = message


def _is_news(message: HtmlElement, known: HtmlElement) -> bool:
    work = message.get("data-work") or ""
    return message.get("data-fresh") is not None and (
        message.get("data-status") == "streaming"
        or "running" in work
        or "waiting" in work
        or any(message.get(f"data-{name}") != known.get(f"data-{name}") for name in ("status", "state", "work"))
    )


def _markup(element: HtmlElement) -> str:
    element = deepcopy(element)
    element.attrib.pop("data-fresh", None)
    for place in element.xpath(FORECAST):
        place.drop_tree()
    return " ".join(html.tostring(element, encoding="unicode").split()).replace("> <", "><")
