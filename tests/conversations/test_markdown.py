from __future__ import annotations

from html.parser import HTMLParser

import pytest

from conversations.markdown import MAX_MARKDOWN, render
from tests.timing import cpu_seconds

pytestmark = pytest.mark.once

SAFE = {"p", "a", "div", "span", "pre", "code", "button", "table", "thead", "tbody", "tr", "th", "td"}


def tags_of(html: str) -> list[tuple[str, dict[str, str]]]:
    """What a browser would make elements of."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, {k: v or "" for k, v in attributes}))  # type: ignore[method-assign]
    parser.feed(html)
    return found


def test_text_becomes_paragraphs_lists_tables_and_coloured_code() -> None:
    html = render("# Plan\n\n1. **copy**\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n```python\ndef f(): pass\n```")
    assert "<h1>Plan</h1>" in html
    assert "<strong>copy</strong>" in html
    assert '<td align="right">1</td>' in html
    assert '<span class="k">def</span>' in html
    assert '<div class="code-head"><span>python</span>' in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        '```"><script>alert(1)</script>\nx\n```',
        "```html\n<script>alert(1)</script>\n```",
        "| <script>alert(1)</script> |\n|---|\n| x |",
        "![<script>alert(1)</script>](x)",
        '[x](https://a.example "\\"onmouseover=alert(1)")',
        "<style>*{display:none}</style>",
        '<a href="https://a.example" style="position:fixed">x</a>',
    ],
)
def test_hostile_text_is_inert(hostile: str) -> None:
    for tag, attributes in tags_of(render(hostile)):
        assert tag in SAFE
        assert not any(name.startswith("on") or name in ("style", "src", "id") for name in attributes)
        assert attributes.get("href", "https:").startswith(("https:", "mailto:", "x"))


def test_an_image_is_a_link_so_that_nothing_is_fetched() -> None:
    assert render("![a cat](https://a.example/cat.png)") == (
        '<p><a href="https://a.example/cat.png" target="_blank" rel="noopener nofollow">a cat</a></p>\n'
    )


def test_links_open_apart_and_give_nothing_away() -> None:
    assert 'target="_blank" rel="noopener nofollow"' in render("[x](https://a.example)")


@pytest.mark.parametrize(
    "heavy",
    [
        "[" * 10_000,
        "[" * 5_000 + "]" * 5_000,
        "![a](" * 5_000,
        "*_" * 10_000,
        "x" * 1_000_000,
        "> " * 10_000,
        "`a" * 10_000,
    ],
    ids=["brackets", "pairs", "images", "emphasis", "a long word", "quotes", "ticks"],
)
def test_heavy_text_takes_under_a_second(heavy: str) -> None:
    assert cpu_seconds(lambda: render(heavy), rounds=3) < 1
    assert render(heavy)


def test_what_is_too_long_for_markdown_is_shown_as_it_is() -> None:
    html = render("**<b>** " + "x" * MAX_MARKDOWN)
    assert html.startswith('<div class="plain">**&lt;b&gt;** xxx')
