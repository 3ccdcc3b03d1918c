"""Which names the page's modules leave behind for one another and for others."""

from __future__ import annotations

import pytest

from tests.journeys.site import Person, long_conversation

pytestmark = pytest.mark.browser

OWN_NAMES = """() => {
    const frame = document.body.appendChild(document.createElement("iframe"));
    const known = new Set(Object.getOwnPropertyNames(frame.contentWindow));
    frame.remove();
    return Object.getOwnPropertyNames(window).filter((name) => !known.has(name) && isNaN(name));
}"""


def test_the_modules_run_and_share_no_name_but_that_of_htmx(alice: Person) -> None:
    faults: list[str] = []
    alice.page.on("pageerror", lambda error: faults.append(str(error)))
    alice.page.on("console", lambda line: faults.append(line.text) if line.type in ("error", "warning") else None)
    alice.imports(long_conversation(4))
    for address in (alice.page.url, alice.site.url):
        alice.page.goto(address, wait_until="networkidle")
        cdp = alice.page.context.new_cdp_session(alice.page)
        assert cdp.send("Runtime.globalLexicalScopeNames")["names"] == []
        cdp.detach()
        assert alice.page.evaluate(OWN_NAMES) == ["htmx"]
    assert faults == []
