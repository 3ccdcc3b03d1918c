"""The page in other languages, in a browser: nothing is wider than the screen, and later texts are translated too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person, long_conversation
from tests.journeys.test_widths import Measured
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

ADDRESSES = ("", "settings", "usage", "trash", "import", "help/", "memory/")
LANGUAGES = {
    "de": ("Senden", "Gedächtnis", "Heute"),
    "es": ("Enviar", "Memoria", "Hoy"),
    "fr": ("Envoyer", "Mémoire", "Aujourd'hui"),
    "zh-hans": ("发送", "记忆", "今天"),
}
"""What Send, the tab Memory, and a chat of today are called."""


@pytest.mark.parametrize(
    "language", ["zh-hans", "de", *(pytest.param(language, marks=pytest.mark.long) for language in ("es", "fr"))]
)
def test_a_chat_is_lived_in_another_language(language: str, at_site: Callable[..., Person], llm: LlmServer) -> None:
    send, memory, today = LANGUAGES[language]
    alice = at_site()
    alice.sets_up()
    page, measure = alice.page, Measured(alice.page)
    page.goto(f"{alice.site.url}/settings")
    page.locator("#language").select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
    for address in ADDRESSES:
        page.goto(f"{alice.site.url}/{address}")
        measure(f"{language} {address}")
    alice.imports(long_conversation(40))
    page.locator("#content").fill("Wie geht es?")
    page.get_by_role("button", name=send, exact=True).click()
    expect(page.locator(".message.assistant").last).to_have_attribute("data-status", "complete")
    # What scripts write, and what sockets bring.
    expect(page.locator(".thread .day, #thread .day").last).to_contain_text(today)
    page.locator("#compact").click()
    expect(page.locator("#thread [role=group] b")).to_be_visible()
    expect(page.locator("#thread")).not_to_contain_text("messages compacted")
    measure(f"{language} chat")
    page.locator(".head a[href*='/context']").click()
    page.locator("#tab-memory").click()
    expect(page.locator("#tab-memory")).to_have_text(memory)
    measure(f"{language} context")
    assert measure.wrong == []
