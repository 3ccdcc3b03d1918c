"""Cleans text and splits it into sentences of bounded length, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.abbreviations import is_abbreviation
from compression.core.text.patterns import OTHER_MONTHS

MAX_SENTENCE_CHARS = 320
"""A longer sentence is cut at a space, or anywhere if it has none."""

_UNPRINTABLE = lazy_pattern(r"[\x00-\x08\x0e-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_MARKS = lazy_pattern(r"^(?:(?:[#>*•·–-]{1,6}|\d{1,2}[.)])\s+)+#*|^#+\s*|(?<!\S)#{2,6}(?!\S)")
_ORDINAL = lazy_pattern(r"(?<![\w.,])\d{1,2}\.$")
_COUNTED = lazy_pattern(
    rf"\s+(?i:(?:{'|'.join(OTHER_MONTHS)}"
    r"|jahrhunderts?|jahrestag|quartals?|tag|woche|monat|jahr|mal|klasse|stock|etage|platz|geburtstag|versuch)\b"
    r"|(?:und|oder|bis)(?: zum)? \d{1,2}\.)"
)
"""Words that stand behind an ordinal number in German: "8. März", "3. bis 5. Mai"."""
_END = lazy_pattern(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|$)|[。！？｡]++[」』”’）*_]*+")
_END_OR_SEMICOLON = lazy_pattern(r"(?<![.!?…;])[.!?…;]++[\"'”’)\]*_]*+(?=\s|$)|[。！？；｡]++[」』”’）*_]*+")
_BOLD = lazy_pattern(r"\*\*([^*]{1,200})\*\*")
_LEAD_IN = lazy_pattern(
    r"(?:(?:wow|whoa|oh|ok|okay|yeah|yep|and|but|actually|anyway|by the way|btw|in fact|honestly)[,!.]*\s+"
    r"|(?:yes|so|also|well|hey|hi|cool|thanks(?: so much| a lot)?|thank you|of course|sure|to be honest)[,!.]+\s+)+",
    re.IGNORECASE,
)
"""Words before a sentence that it does without."""
_ENDS = ".!?。！？…"


def clean(text: str) -> str:
    """`text` without control characters, invisible marks and lone surrogates; line breaks stay."""
    return _UNPRINTABLE.sub("", text)


def one_line(text: str) -> str:
    """`text` on one line, without the Markdown that would make it a heading, a quotation or a list item."""
    return " ".join(_MARKS.sub(" ", " ".join(text.split())).split())


def sentence_ends(text: str, start: int, end: int, *, semicolons: bool = False) -> Iterator[tuple[int, int]]:
    """The places of the marks that end sentences in `text[start:end]`, or also its clauses.

    Abbreviations and the ordinal numbers of days end none.
    """
    for found in (_END_OR_SEMICOLON if semicolons else _END).finditer(text, start, end):
        mark, after = found.span()
        is_ordinal = _COUNTED.match(text, after, end) and _ORDINAL.search(text, max(start, mark - 4), mark + 1)
        if not is_ordinal and not is_abbreviation(text, start, mark, after, end):
            yield mark, after
            start = after


def sentences(line: str) -> list[str]:
    """The sentences of one line of prose, none longer than MAX_SENTENCE_CHARS."""
    parts: list[str] = []
    start = 0
    for _, end in sentence_ends(line, 0, len(line)):
        parts += split_long(line[start:end].strip())
        start = end
    return parts + split_long(line[start:].strip())


def whole(sentence: str) -> str:
    """The sentence as a summary quotes it: without words that lead in to it or bold marks, with a full stop."""
    text = _BOLD.sub(r"\1", sentence)
    lead = _LEAD_IN.match(text)
    if lead and len(text) > lead.end():
        text = text[lead.end()].upper() + text[lead.end() + 1 :]
    return stopped(text)


def stopped(sentence: str) -> str:
    """The sentence with a full stop, unless it ends with another mark."""
    bare = sentence.rstrip().rstrip(":;,")
    if not bare or bare.rstrip("\"'”’)]*_`")[-1:] in _ENDS:
        return bare
    return f"{bare}."


def split_long(text: str) -> list[str]:
    """`text` in parts of at most MAX_SENTENCE_CHARS characters."""
    parts: list[str] = []
    while len(text) > MAX_SENTENCE_CHARS:
        cut = text.rfind(" ", MAX_SENTENCE_CHARS // 2, MAX_SENTENCE_CHARS)
        cut = MAX_SENTENCE_CHARS if cut < 0 else cut
        parts.append(text[:cut])
        text = text[cut:].lstrip()
    return [*parts, text] if text else parts
