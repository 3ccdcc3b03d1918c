"""Brings a model's summary into the standard form: the standard headings, and nothing around them.

Models wrap their reply in reasoning, tags and fences, close it with an offer of help, and write headings in forms of
their own: numbered, bold, underlined, in the conversation's language.
"""

from __future__ import annotations

import re
from textwrap import dedent

from compression.core.lazy_pattern import lazy_pattern
from compression.core.sections import SECTIONS, SUMMARY, TRANSLATED

_REASONING = lazy_pattern(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_REASONING = lazy_pattern(r"\A.*</(?:think|thinking|thought|reasoning|analysis)>", re.DOTALL | re.IGNORECASE)
_HEADING = lazy_pattern(
    rf"^[ \t]*+(?:#{{1,6}}+[ \t]*+|\*\*)({'|'.join(SECTIONS)})[ \t]*+(?:\*\*)?+[ \t]*+:?+[ \t]*+(?:\*\*)?+[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
"""All quantifiers are possessive: adjacent parts that match blanks would otherwise backtrack exponentially."""
_NAMES = {name.lower(): name for name in SECTIONS} | {
    word.lower(): name for name, words in TRANSLATED.items() for word in words
}
_ANY_NAME = "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
_ALONE = lazy_pattern(
    r"^[^\w\n]*+(?:\d{1,2}[^\w\n]++)?(?:(?:key|current|relevant|important|overall|conversation|brief) )?"
    rf"({_ANY_NAME})(?: (?:of|so far|made|changed|touched|worked on)\b[^\n:]{{0,60}})?[^\w\n]*+$",
    re.MULTILINE | re.IGNORECASE,
)
"""A section's name alone in a line, with a number, an emoji or other signs around it."""
_BEFORE_TEXT = lazy_pattern(
    rf"^(?:#{{1,6}}[ \t]{{0,4}})?(?:\*\*)?({_ANY_NAME})(?:\*\*)?[ \t]?[:\uff1a](?:\*\*)?[ \t]++(?=\S)",
    re.MULTILINE | re.IGNORECASE,
)
"""A section's name, a colon, and its text in the same line."""
_UNDERLINED = lazy_pattern(rf"^(## (?:{'|'.join(SECTIONS)}))\n[-=]{{3,}}+[ \t]*+$", re.MULTILINE)
_TAGS = lazy_pattern(r"</?h[1-6]>", re.IGNORECASE)
_QUOTED = lazy_pattern(r"^> ?", re.MULTILINE)
_LAST_SIGN = lazy_pattern(r"<(?:\|[^<>|\n]{1,40}\||/?s|eos|end_of_turn)>\Z", re.IGNORECASE)
_RULER = lazy_pattern(r"[ \t]*+(?:-{3,}+|\*{3,}+|_{3,}+)[ \t]*+")
_OFFER = lazy_pattern(
    r"[(*_\"]{0,3}(?:would you like|(?:please )?let me know|shall i|should i|do you want|is there anything|feel free"
    r"|i hope (?:this|that)|word count|note: this summary|this summary (?:is|has|was|captures|covers|preserves))\b",
    re.IGNORECASE,
)
LONGEST_OFFER = 400
"""Characters of a last paragraph that may be an offer of help or a remark on the summary."""
MOST_CLOSINGS = 5
END_OF_TAG = "\n</summary>"


def sections_of(text: str) -> list[str]:
    """The sections whose headings a text has in their standard form."""
    return [name for name in SECTIONS if re.search(rf"^## {name}$", text, re.MULTILINE)]


def has_sections(text: str) -> bool:
    """Whether a text has `## Summary` and another section."""
    present = sections_of(text)
    return SECTIONS[0] in present and len(present) > 1


def clean(text: str) -> str:
    """The text without reasoning and without anything before `## Summary`; headings get their standard form.

    Headings in freer forms count only in a text that lacks those in the usual forms.
    """
    text = dedent(_REASONING.sub("", text.replace("\r\n", "\n")))
    headed = _HEADING.sub(lambda found: f"## {found[1].capitalize()}", text)
    if not has_sections(headed) and has_sections(freely := _with_free_headings(text)):
        headed = freely
    answer = _END_OF_REASONING.sub("", headed)
    headed = answer if SUMMARY in answer else headed
    start = headed.find(SUMMARY)
    if start < 0:
        return _without_odd_fence(headed.strip())
    is_fenced = headed[:start].rstrip().rpartition("\n")[2].lstrip().startswith("```")
    end = headed.rfind("\n```") if is_fenced else -1
    return _without_odd_fence(headed[start : end if end > start else None].strip())


def without_closing(text: str) -> str:
    """A cleaned summary without the signs, the tag and the offer of help that models end their replies with."""
    end = text.find(END_OF_TAG)
    text = (text[:end] if end >= 0 else text).rstrip()
    for _ in range(MOST_CLOSINGS):
        if sign := _LAST_SIGN.search(text, max(0, text.rfind("<"))):
            text = text[: sign.start()].rstrip()
        rest, _, last = text.rpartition("\n\n")
        if rest and len(last) <= LONGEST_OFFER and _OFFER.match(last):
            text = rest.rstrip()
        rest, _, last = text.rpartition("\n")
        if _RULER.fullmatch(last):
            text = rest.rstrip()
    return text


def _without_odd_fence(text: str) -> str:
    """The text without a fence at its end that closes no code."""
    is_odd = len(re.findall(r"^[ \t]*+```", text, re.MULTILINE)) % 2
    return text.removesuffix("```").rstrip() if is_odd else text


def _with_free_headings(text: str) -> str:
    """The text with the headings that stand in a form of the model's own."""
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and all(line.startswith(">") for line in lines):
        text = _QUOTED.sub("", text)
    text = _ALONE.sub(lambda found: f"## {_NAMES[found[1].lower()]}", _TAGS.sub("", text))
    text = _BEFORE_TEXT.sub(lambda found: f"## {_NAMES[found[1].lower()]}\n", text)
    return _UNDERLINED.sub(r"\1", text)
