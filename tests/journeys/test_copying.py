"""Copying: a message as it is stored, code as it is, and a selection as it reads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

CODE = "  def f(x):\n\n\treturn  x  # twice\n\n"
REPLY = f"""# Two roots

The **roots** of $x^2 + 1 = 0$ are [here](https://example.org):

- one
- two

$$
\\frac{{a}}{{b}}
$$

```python
{CODE}```

The end."""
SELECTS = """({ from, to }) => {
    const range = document.createRange(), text = document.querySelector(".message.assistant .text");
    range.setStart(from ? text.querySelector(from) : text, 0);
    if (to) range.setEndAfter(text.querySelector(to)); else range.setEndAfter(text.lastChild);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.fixture
def reader(alice: Person, llm: LlmServer) -> Person:
    """In front of a reply with all that a text may have."""
    alice.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    alice.begins()
    llm.enqueue(REPLY)
    alice.says("How?\n  indented, with *stars*")
    alice.is_answered("The end.")
    return alice


def copied_selection(page: Page, start: str = "", end: str = "") -> str:
    page.evaluate("navigator.clipboard.writeText('nothing')")
    page.evaluate(SELECTS, {"from": start, "to": end})
    page.keyboard.press("Control+C")
    page.wait_for_function("navigator.clipboard.readText().then((text) => text !== 'nothing')")
    return clipboard(page)


def test_a_message_is_copied_as_it_is_stored(reader: Person) -> None:
    page = reader.page
    for role, words in (("assistant", REPLY), ("user", "How?\n  indented, with *stars*")):
        button = page.locator(f".message.{role} > .acts > .copy")
        button.click()
        expect(button).to_have_accessible_name("Copied")
        assert clipboard(page) == words
    assert reader.complaints == []


def test_a_reply_is_copied_as_html_too(reader: Person) -> None:
    page = reader.page
    page.locator(".message.assistant > .acts > .copy").click()
    expect(page.locator(".message.assistant > .acts > .copy")).to_have_accessible_name("Copied")
    read = "navigator.clipboard.read().then(([item]) => item.getType('text/html')).then((blob) => blob.text())"
    html = str(page.evaluate(read))
    for part in ("<h1>Two roots</h1>", "<strong>roots</strong>", 'href="https://example.org', "<li>one</li>", "<math"):
        assert part in html
    assert "<button" not in html and "class=" not in html and "return" in html
    assert reader.complaints == []


def test_code_is_copied_exactly(reader: Person) -> None:
    button = reader.page.locator("[data-code=copy]")
    button.click()
    expect(button).to_have_text("Copied")
    assert clipboard(reader.page) == CODE.removesuffix("\n")


def test_a_selection_is_copied_as_it_reads_with_formulas_in_tex(reader: Person) -> None:
    text = copied_selection(reader.page)
    assert "The roots of $x^2 + 1 = 0$ are here:" in text
    assert "$$\n\\frac{a}{b}\n$$" in text
    assert CODE.strip() in text and "The end." in text
    assert "Copy" not in text and "Copied" not in text


def test_a_selection_within_a_formula_is_that_formula(reader: Person) -> None:
    assert copied_selection(reader.page, "math mn", "math mn") == "$x^2 + 1 = 0$"


def test_what_cannot_be_copied_is_said(reader: Person) -> None:
    reader.page.route("**/words", lambda route: route.abort())
    reader.page.locator(".message.assistant > .acts > .copy").click()
    expect(reader.page.locator("#alert")).to_contain_text("could not be copied")
