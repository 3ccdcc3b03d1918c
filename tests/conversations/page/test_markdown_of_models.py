"""Markdown as models write it: bare addresses, emphasis in CJK texts, tags, footnotes, marked quotations, formulas."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from conversations.page.markup.addresses import linked
from conversations.page.markup.formulas import as_mathml
from conversations.page.markup.markdown import html_of
from tests.growth import growth, repeated

pytestmark = pytest.mark.once

LINK = '<a href="{0}" target="_blank" rel="noopener nofollow">{0}</a>'


def inline(text: str) -> str:
    return str(html_of(text)).strip().removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize(
    ("text", "address", "after"),
    [
        ("See https://e.org/a_b_c?x=1#y.", "https://e.org/a_b_c?x=1#y", "."),
        ("(https://e.org/x_(y))", "https://e.org/x_(y)", ")"),
        ("HTTP://e.org, next", "HTTP://e.org", ", next"),
        ("请访问https://e.org/a获取，谢谢", "https://e.org/a", "获取，谢谢"),
        ("**https://e.org**", "https://e.org", "</strong>"),
        ("„https://e.org/“", "https://e.org/", "“"),
    ],
)
def test_a_bare_address_is_a_link_without_the_signs_after_it(text: str, address: str, after: str) -> None:
    html = inline(text)
    assert LINK.format(address) + after in html, html


@pytest.mark.parametrize("word", ["Größe", "中国", "Москва"])
def test_an_address_may_have_letters_of_any_script(word: str) -> None:
    html = inline(f"https://e.org/wiki/{word} ok")
    assert f">https://e.org/wiki/{word}</a> ok" in html and re.search(r'href="https://e\.org/wiki/[A-Za-z0-9%]+"', html)


@pytest.mark.parametrize(
    ("text", "address", "after"),
    [
        ("See www.e.org/a_b?x=https://f.org.", "www.e.org/a_b?x=https://f.org", "."),
        ("(WWW.e-f.co.uk)", "WWW.e-f.co.uk", ")"),
        ("**www.e.org**", "www.e.org", "</strong>"),
    ],
)
def test_an_address_without_a_scheme_is_a_link_to_https(text: str, address: str, after: str) -> None:
    link = f'<a href="https://{address}" target="_blank" rel="noopener nofollow">{address}</a>'
    assert link + after in inline(text)
    assert link in linked(text)


@pytest.mark.parametrize("text", ["www.", "www.e", "awww.e.org", "me@www.e.org", "www..org", "`www.e.org`", "www.1.2"])
def test_words_that_only_begin_like_one_are_none(text: str) -> None:
    assert "<a" not in inline(text)


@pytest.mark.parametrize("text", ["`https://e.org`", "https://", "xhttps://e.org", "javascript://e.org", "ftp://e.org"])
def test_other_words_are_no_links(text: str) -> None:
    assert "<a" not in inline(text)


def test_a_person_s_words_have_links_and_are_escaped_otherwise() -> None:
    assert linked('See https://e.org/a?b="c"&d=<i>.') == (
        'See <a href="https://e.org/a?b=" target="_blank" rel="noopener nofollow">https://e.org/a?b=</a>'
        "&quot;c&quot;&amp;d=&lt;i&gt;."
    )
    assert linked("<b>**no**</b> javascript:x") == "&lt;b&gt;**no**&lt;/b&gt; javascript:x"
    assert growth(linked, repeated("https://e.org/)"), start=12_500, largest=200_000).is_linear


def test_an_address_within_a_link_is_its_text() -> None:
    assert inline("[https://a.org](https://e.org)").count("<a ") == 1
    assert inline("<https://e.org>") == LINK.format("https://e.org")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("请看**“引号”**后面。", "请看<strong>“引号”</strong>后面。"),
        ("**注意：**文字", "<strong>注意：</strong>文字"),
        ("これは**「重要」**です。", "これは<strong>「重要」</strong>です。"),
        ("**강조(emphasis)**는", "<strong>강조(emphasis)</strong>는"),
        ("*（a）*和~~（b）~~。", "<em>（a）</em>和<s>（b）</s>。"),
        ("这是**重要**的", "这是<strong>重要</strong>的"),
        ("2**（3） 和 a ** b", "2**（3） 和 a ** b"),
        ('a**"b"**c', "a**&quot;b&quot;**c"),
    ],
)
def test_emphasis_stands_beside_cjk_signs(text: str, expected: str) -> None:
    assert inline(text).replace("&quot;", '"') == expected.replace("&quot;", '"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("H<sub>2</sub>O, x<SUP>2</SUP>, <kbd>Ctrl</kbd>", "H<sub>2</sub>O, x<sup>2</sup>, <kbd>Ctrl</kbd>"),
        ("a<br>b<br/>c", "a<br>\nb<br>\nc"),
        ("<b>bold *and* more</b>", "<b>bold <em>and</em> more</b>"),
        ("<b>open and </i>closed", "&lt;b&gt;open and &lt;/i&gt;closed"),
        ("<b>a<b>b</b>", "&lt;b&gt;a<b>b</b>"),
        ('<b onclick="x()">a</b>', '&lt;b onclick="x()"&gt;a&lt;/b&gt;'),
        ("List<String> and `<b>a</b>`", "List&lt;String&gt; and <code>&lt;b&gt;a&lt;/b&gt;</code>"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("Text[^1].", "Text<sup>1</sup>."),
        ("The class [^0-9] and [^a].", "The class [^0-9] and [^a]."),
        ("• a\n• b\nc", "• a<br>\n• b\nc"),
        ("Iron.\ue200cite\ue202turn0search0\ue201", "Iron."),
    ],
)
def test_some_tags_and_marks_are_read(text: str, expected: str) -> None:
    assert inline(text) == expected


def test_a_tag_does_not_reach_beyond_its_paragraph() -> None:
    assert str(html_of("<b>one\n\ntwo</b>")) == "<p>&lt;b&gt;one</p>\n<p>two&lt;/b&gt;</p>\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<details>\n<summary>The **log**</summary>\n\n- a\n\n</details>\nEnd",
         "<details> <summary>The <strong>log</strong></summary> <ul> <li>a</li> </ul> </details> <p>End</p>"),
        ("<DETAILS open><summary>Log</summary>\na `b`\n</details>",
         '<details open=""> <summary>Log</summary> <p>a <code>b</code></p> </details>'),
        ("Before\n<details>\nwords\n</details>", "<p>Before</p> <details> <p>words</p> </details>"),
        ("<details>\nno end\n\nmore", '<details open=""> <p>no end</p> <p>more</p> </details>'),
        ("> <details>\n> x\n> </details>\n\nZ",
         "<blockquote> <details> <p>x</p> </details> </blockquote> <p>Z</p>"),
        ("<details><summary>a</summary>\n<details>\nb\n</details>\nc\n</details>\nd",
         "<details> <summary>a</summary> <details> <p>b</p> </details> <p>c</p> </details> <p>d</p>"),
        ("<details><summary><script>x</script></summary>\n</details>",
         "<details> <summary>&lt;script&gt;x&lt;/script&gt;</summary> </details>"),
    ],
)  # fmt: skip
def test_parts_that_are_folded_away_can_be_opened(text: str, expected: str) -> None:
    assert " ".join(html_of(text).split()) == expected


@pytest.mark.parametrize("text", ["a <details> b", "<details onclick=x>\n</details>", "</details>", "`<details>`"])
def test_other_words_of_them_stay_text(text: str) -> None:
    html = str(html_of(text))
    assert "<details" not in html and "details" in html


def test_nothing_is_lost_in_very_deep_ones() -> None:
    html = str(html_of("<details>\n" * 40 + "the end"))
    assert 5 < html.count("<details open") <= 10 and "the end" in html


def test_a_part_in_code_is_code() -> None:
    html = str(html_of("```\n<details>\n</details>\n```"))
    assert "<details" not in html and "&lt;details&gt;" in html


def test_a_marked_quotation_begins_with_its_kind() -> None:
    assert "<p><strong>Note</strong><br>" in str(html_of("> [!NOTE]\n> Hello"))
    assert "<strong>Warning</strong><br>\nCareful" in str(html_of("> [!WARNING] Careful"))
    assert "[!OTHER]" in str(html_of("> [!OTHER] x")) and "[!NOTE]" in str(html_of("[!NOTE] x"))
    with override("de"):
        assert "<strong>Hinweis</strong>" in str(html_of("> [!note]\n> Hallo"))


@pytest.mark.parametrize(
    "text",
    [
        "\\begin{align}\na&=b\\\\\nc&=d\n\\end{align}",
        "Text:\n\\begin{equation*}a=b\\end{equation*}",
        "```math\nx^2\n```",
        "\\begin{pmatrix}1&2\\end{pmatrix}",
    ],
)
def test_formulas_in_environments_and_in_fences_are_drawn(text: str) -> None:
    html = str(html_of(text))
    assert (
        'class="formula display"' in html and "<math" in html and "begin{" not in re.sub(r'data-tex="[^"]*"', "", html)
    )


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        ("\\begin{aligned}a&=b\\\\c&=d\\end{aligned}", "a = b c = d"),
        ("\\left\\{\\begin{alignedat}{2}a&=b\\end{alignedat}\\right.", "{ a = b"),
        ("\\begin{gathered}a\\\\b\\end{gathered}", "a b"),
        ("\\begin{align}a&=b\\label{x}\\end{align}", "a = b"),
        ("x \\in \\R^n", "x ∈ ℝ n"),
        ("\\ce{H2O}", "H 2 O"),
        ("\\ce{SO4^2- + Na+}", "S O 4 2 - + N a +"),
        ("\\ce{2H2 + O2 -> 2H2O}", "2 H 2 + O 2 → 2 H 2 O"),
        ("\\ce{Fe^{3+} <=> x}", "F e 3 + ⇌ x"),
    ],
)
def test_formulas_of_other_packages_are_drawn(latex: str, words: str) -> None:
    mathml = as_mathml(latex, True)
    assert re.sub(r"<[^>]+>", " ", mathml).replace("−", "-").split() == words.split()
    assert "newline" not in mathml


def test_what_is_no_formula_stays_text_and_code() -> None:
    assert "<math" not in str(html_of("\\begin{itemize}\\item a\\end{itemize}"))
    assert "<math" not in str(html_of("\\begin{align}a"))
    assert "<code>" in str(html_of("```math\n\\unknown{\n```"))


def test_code_has_no_codes_of_a_terminal_and_a_language_no_braces() -> None:
    assert "<code>red\n</code>" in str(html_of("```\n\x1b[31mred\x1b[0m\n```"))
    assert "<span>python</span>" in str(html_of("```{.python}\nx\n```"))


@pytest.mark.parametrize(
    "piece",
    ["https://", "www.", "www.e.", "www.e.org/)", "https://e.org/)",
     "https://e.org/(", "<b>", "</b>", "<b", "[^1]", "> [!NOTE]\n", "•\n",
     "\\begin{align}", "**“", "**（", "文**", "\ue200", "https://e.org/文",
     "<details>\n", "</details>\n", "<details>\n</details>\n", "- <details>\n", "> <details>\n"],
)  # fmt: skip
def test_time_grows_with_the_text(piece: str) -> None:
    for after in ("", "x", "</b>", "\\end{align}"):
        assert growth(html_of, repeated(piece, after=after), start=2_500, largest=20_000).is_linear
