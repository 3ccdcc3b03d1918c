from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from conversations.messages.search_terms import in_a_line
from conversations.page.markup import formulas
from conversations.page.markup.markdown import MAX_MARKDOWN, html_of, render_markdown
from tests.journeys import nasty
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
    html = render_markdown("# Plan\n\n1. **copy**\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n```python\ndef f(): pass\n```")
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
    for tag, attributes in tags_of(render_markdown(hostile)):
        assert tag in SAFE
        assert not any(name.startswith("on") or name in ("style", "src", "id") for name in attributes)
        assert attributes.get("href", "https:").startswith(("https:", "mailto:", "x"))


def test_nothing_of_the_nasty_texts_becomes_more_than_text() -> None:
    words = {"p", "br", "h1", "h2", "blockquote", "ul", "ol", "li", "strong", "em", "s", "hr"}
    for text in nasty.TEXTS:
        for tag, attributes in tags_of(render_markdown(text)):
            assert tag in SAFE | words | formulas.TAGS, text
            assert not any(
                name.startswith(("on", "hx-", "data-")) or name in ("style", "src", "id")
                for name in attributes.keys() - {"math": {"data-tex"}, "button": {"data-code"}}.get(tag, set())
            )
            assert not re.match(
                r"\W*(java|vb)script|\W*(data|blob|file):", attributes.get("href", ""), re.IGNORECASE
            ), text


def test_an_image_is_a_link_so_that_nothing_is_fetched() -> None:
    assert render_markdown("![a cat](https://a.example/cat.png)") == (
        '<p><a href="https://a.example/cat.png" target="_blank" rel="noopener nofollow">a cat</a></p>\n'
    )


def test_links_open_apart_and_give_nothing_away() -> None:
    assert 'target="_blank" rel="noopener nofollow"' in render_markdown("[x](https://a.example)")


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
        "$" * 40_000,
        "\\[\n" * 13_000,
        "$$x$$ y\n" * 4_900 + "$$",
        " ".join(f"$x_{{{number}}}+{number}$" for number in range(2_900)),
        ("$" + "x+" * 490 + "x$ ") * 40,
        "- [ ] a\n" * 4_900,
        "\u202e[" * 10_000,
    ],
    ids=[
        *("brackets", "pairs", "images", "emphasis", "a long word", "quotes", "ticks", "dollars", "openings"),
        *("lines of formulas", "many formulas", "long formulas", "tasks", "overrides"),
    ],
)
def test_heavy_text_takes_under_a_second(heavy: str) -> None:
    anew = html_of  # else what the cache takes is measured
    assert any(cpu_seconds(lambda: anew(heavy)) < 1 for _ in range(3))


def test_what_is_too_long_for_markdown_is_shown_as_it_is() -> None:
    html = render_markdown("**<b>** " + "x" * MAX_MARKDOWN)
    assert html.startswith('<div class="plain">**&lt;b&gt;** xxx')


def test_formulas_become_mathml() -> None:
    html = render_markdown(r"The mean is $\frac{a}{b}$ or \(a+b\)." + "\n\n$$\nx^2\n$$\n\n\\[ y_1 \\]")
    assert html.count("<math") == 4 and html.count(' display="block">') == 2
    assert "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>" in html
    assert '<div class="formula display" tabindex="0" role="group" aria-label="Formula">' in html
    assert r'<math data-tex="$\frac{a}{b}$" display="inline">' in html, "a selection is copied as it was written"
    assert 'data-tex="$$\nx^2\n$$"' in html
    assert "$" not in re.sub(r'data-tex="[^"]*"', "", html)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6, or $7.",
        "Between $5 and 10$ a month",
        "US$5 and CA$6 are not the same.",
        "$ x $ has blanks",
        "costs 10$ or 20$",
        r"\$x$ is escaped",
        "`$x$` is code",
        "a $x$b",
        "```\n$x$ and \\[y\\]\n```",
        "$never closed",
        r"\(never closed",
        "$$",
    ],
)
def test_what_is_no_formula_stays_text(text: str) -> None:
    assert "<math" not in render_markdown(text)


@pytest.mark.parametrize("formula", [r"\foo{x}", "{", r"\begin{matrix}", "x^y^z", "{" * 900 + "}" * 900, "x+" * 600])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(formula: str) -> None:
    html = render_markdown(f"so ${formula}$ it is")
    assert "<math" not in html
    assert formula in html


@pytest.mark.parametrize(
    "formula",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}",
        r"\class{primary}{x}",
        r"\text{<script>alert(1)</script>}",
        r"\text{</math><img src=x onerror=alert(1)>}",
        r"\color{red}{x}",
        r"\hspace{99999em}x",
        r"\mathchoice{<style>}{b}{c}{d}",
    ],
)
def test_a_hostile_formula_is_inert(formula: str) -> None:
    for tag, attributes in tags_of(render_markdown(f"${formula}$")):
        assert tag in SAFE | formulas.TAGS
        assert set(attributes) <= {"data-tex", "display", "mathvariant"}, (
            "no link, no style, and nothing that pushes others away"
        )


def test_tasks_have_signs() -> None:
    html = render_markdown("- [ ] copy\n- [x] **switch**\n- [y] no task")
    assert '<span class="task" role="img" aria-label="To do">☐</span> copy' in html
    assert '<span class="task" role="img" aria-label="Done">☑</span> <strong>switch</strong>' in html
    assert "<li>[y] no task</li>" in html


def test_a_number_alone_is_no_list() -> None:
    assert render_markdown("1984.\n") == "<p>1984.</p>\n"
    assert '<ol start="1984">' in render_markdown("1984. It was a cold day.")


def test_what_scrolls_by_itself_can_be_reached_by_the_keyboard() -> None:
    assert '<pre tabindex="0" role="group" aria-label="Code, python">' in render_markdown("```python\nx\n```")
    assert '<div class="table" tabindex="0" role="group" aria-label="Table">' in render_markdown("| a |\n|---|\n| b |")


def test_what_hides_in_the_words_of_a_link_is_seen() -> None:
    html = render_markdown("[\u202emoc.knab](https://evil.example) and <https://a\u200b.example> and \u202eprose")
    assert "[U+202E]moc.knab" in html
    assert "a[U+200B].example" in html or "a%E2%80%8B.example" in html
    assert "\u202eprose" in html, "a text may hold what it likes: its paragraph ends it"


def test_in_a_line_a_text_has_its_words_and_not_the_marks_of_markdown() -> None:
    text = "## The plan\n\n1. **Where** the state lives: `alpha.internal`.\n\n```bash\nls *.py\n```\n2 ** 3 # no"
    assert in_a_line(text) == "The plan 1. Where the state lives: alpha.internal. ls *.py 2 ** 3 # no"


def test_only_whole_addresses_are_links() -> None:
    links = "[a](/admin/), [b](notes.txt), [c](#top), note[^1] and [d](HTTPS://example.org)"
    shown = render_markdown(f"See {links}.\n\n[^1]: footnote")
    assert shown.count("<a ") == 1
    assert "[a](/admin/)" in shown and "<sup>1</sup>: footnote" in shown
