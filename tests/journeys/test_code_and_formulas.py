"""A box of code wraps and is downloaded; a diagram is drawn; formulas have a font of the site's own."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.site import Person
from tests.llm_server import LlmServer

pytestmark = pytest.mark.browser

WIDTH = "(one) => one.scrollWidth > one.clientWidth"
FONTS = "[...document.fonts].filter((one) => one.status === 'loaded').map((one) => one.family.replaceAll('\"', ''))"
BRACKET = "() => document.querySelector('math mo').getBoundingClientRect().height"


def test_code_wraps_and_is_downloaded_with_the_ending_of_its_language(alice: Person, llm: LlmServer) -> None:
    code = "print('" + "a long line " * 40 + "')\n# 港口 <b>\n"
    llm.enqueue(f"Here:\n\n```python\n{code}```\n\n```mermaid\ngraph TD; A-->B\n```")
    alice.begins()
    alice.says("Code, please.")
    alice.is_answered("Here:")
    box = alice.replies.last.locator(".code").first
    assert box.locator("pre").evaluate(WIDTH)
    wrap = box.get_by_role("button", name="Wrap")
    wrap.click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not box.locator("pre").evaluate(WIDTH)
    with alice.page.expect_download() as download:
        box.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "code.py"
    assert download.value.path().read_text(encoding="utf-8") == code
    with alice.page.expect_download() as download:
        alice.replies.last.locator(".code").last.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "code.mmd"
    assert alice.complaints == []


def test_a_diagram_is_drawn_in_a_frame_that_reaches_nothing(alice: Person, llm: LlmServer) -> None:
    evil = 'graph TD; A["<img src=x onerror=\'parent.document.title=1\'>"]-->B; click B href "javascript:alert(1)"'
    llm.enqueue(
        "Two:\n\n```mermaid\ngraph TD; Start-->Middle-->End\n```\n\n"
        f"```mermaid\n{evil}\n```\n\n```mermaid\nno diagram\n```"
    )
    alice.begins()
    alice.says("Diagrams, please.")
    alice.is_answered("Two:")
    boxes, title = alice.replies.last.locator(".code"), alice.page.title()
    for number in range(3):
        boxes.nth(number).get_by_role("button", name="Draw").click()
    drawn = boxes.first.frame_locator("iframe").locator("svg")
    expect(drawn).to_contain_text("Middle", timeout=20_000)
    assert boxes.first.locator("iframe").evaluate("(one) => one.offsetHeight") > 120
    expect(boxes.nth(1).frame_locator("iframe").locator("svg")).to_be_visible()
    expect(boxes.nth(2).get_by_role("button", name="Cannot be drawn")).to_be_visible()
    assert alice.page.title() == title
    assert boxes.first.locator("iframe").evaluate("(one) => one.contentDocument") is None, "it has no origin"
    boxes.first.get_by_role("button", name="Code", exact=True).click()
    expect(boxes.first.locator("pre")).to_be_visible()


def test_formulas_have_a_font_of_the_site(alice: Person, llm: LlmServer) -> None:
    llm.enqueue(r"So: $$\left(\frac{\frac{a}{b}}{\frac{c}{d}}\right)$$ and $(x)$.")
    alice.begins()
    alice.says("A formula, please.")
    alice.is_answered("So:")
    alice.page.evaluate("document.fonts.ready")
    fonts = alice.page.evaluate(FONTS)
    assert "STIX Two Math" in fonts and "Inter" in fonts
    around = alice.page.evaluate(BRACKET)
    inside = alice.replies.last.locator("math mfrac").first.evaluate("(one) => one.getBoundingClientRect().height")
    assert around > 0.8 * inside, "brackets grow with what they hold"
    assert alice.complaints == []
