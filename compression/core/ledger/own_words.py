"""Splits the text that a person typed into sentences of their own: without code, quotations and reported texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.relayed_texts import Handover, colon_in, handover, is_forwarded
from compression.core.ledger.values import MAX_ENTRY_CHARS
from compression.core.text.sentences import sentence_ends

MASK = "\u25a1"
"""The character that replaces each character of a quotation during the search for patterns."""
HANDED_OVER = "\ufffc"
"""A line in place of a text that the person handed over, for example a paste or a file."""

_FENCED = lazy_pattern(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_QUOTATION = lazy_pattern(
    r"“[^”]{1,2000}”|„[^“”]{1,2000}[“”]|«[^»]{1,2000}»|»[^«]{1,2000}«|「[^」]{1,2000}」|『[^』]{1,2000}』"
    r"|(?<![\w\"])\"(?:[^\"\n]|\n(?!\s*\n)){1,1000}\"|(?<!\w)['‘](?=\S)[^'‘’\n]{0,200} [^'‘’\n]{0,200}['’](?!\w)|"
    r"`[^`\n]{1,400}`"
)
_MARKS = lazy_pattern(r"\s*(?:(?:[-*+•·–#]{1,6}|\(?\d{1,2}[.)]|\[[ xX]\])\s+)*(?:\*{1,2}|_{1,2})?")
_CLAUSE = lazy_pattern(
    r"[,;]\s+(?:and |but |so |because |since |while |or )?(?=(?:I|I['’]\w+|we|we['’]\w+|can|could|please|how|what|"
    r"it|there)\b)"
)
_REPORTED = lazy_pattern(
    r"\b(?:sa(?:ys|id)|wr(?:ites|ote)|reads?|told|(?:e-?)?mail|letter|article|page|website|log|output|error|document|"
    r"readme|docs?|quote[sd]?|comment|ticket|transcript|answered|replied|schreibt|sagt|schrieb|sagte|écrit|dit|dice|"
    r"escribe|scrive|diz|escreve|пишет|сказал\w*|написал\w*)\b.{0,60}[:：]\s*$|(?:说|写道|内容|"
    r"邮件)[^。]{0,20}[:：]\s*$"
    r"|(?:と書|メール|引用)[^。]{0,20}[:：]?\s*$"
    r"|^\s*\[?(?:user|assistant|system|tool|human|ai)\b[^\n]{0,40}[\]:]"
    r"|^\s*(?:from|subject|von|betreff|de|objet|asunto|oggetto|assunto|от|тема)\s?:\s",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """A typed sentence, and the same sentence with masked quotations, both on one line.

    `is_doubtful`: it may belong to a text that the person has only handed over.
    """

    text: str
    masked: str
    is_doubtful: bool = False


def own_sentences(text: str) -> Iterator[Sentence]:
    """The sentences that are the person's own words, in order; time is linear in the text."""
    text = _FENCED.sub(_blank_lines, text)
    masked = _QUOTATION.sub(lambda found: _masked(found[0]), text)
    at, is_reported = 0, False
    blank_before = False
    given: Handover = ""
    points_at_other = HANDED_OVER in text  # "this mail" is a paste or a file then
    for line in masked.splitlines(keepends=True):
        start, at = at, at + len(line)
        if not line.strip():
            is_reported = is_reported and not blank_before and _ends_intro(masked, start)
            blank_before = True
            continue
        blank_before = False
        if line.strip() == HANDED_OVER:
            given = ""
            continue
        if line.lstrip().startswith((">", "|")):
            continue
        if is_forwarded(line):
            given = "certain"
        if not is_reported and given != "certain":
            for sentence in _sentences(text, masked, start, start + len(line.rstrip())):
                colon = colon_in(sentence.masked)
                own = sentence if colon is None else Sentence(sentence.text[:colon], sentence.masked[:colon])
                yield own._replace(is_doubtful=bool(given))
                after: Handover = "certain" if colon is not None else handover(sentence.masked)
                if after == "certain" or not points_at_other:
                    given = after or given
                if given == "certain":
                    break
        is_reported = is_reported or bool(_REPORTED.search(line[:200] if len(line) > 400 else line))


def statements(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence; one of more than MAX_ENTRY_CHARS in its clauses ("…, and I prefer …"), without those as long."""
    if len(sentence.text) <= MAX_ENTRY_CHARS:
        yield sentence
        return
    at = 0
    for comma in (*_CLAUSE.finditer(sentence.masked), None):
        end = comma.start() if comma else len(sentence.masked)
        if end - at <= MAX_ENTRY_CHARS:
            yield Sentence(sentence.text[at:end], sentence.masked[at:end], sentence.is_doubtful)
        at = comma.end() if comma else end


def _sentences(text: str, masked: str, start: int, end: int) -> Iterator[Sentence]:
    marks = _MARKS.match(masked, start, end)
    at = marks.end() if marks else start
    for mark, after in sentence_ends(masked, at, end):
        if masked.startswith(("..", "…"), mark) and masked[after : after + 2].strip()[:1].islower():
            continue
        yield from _sentence(text[at:after], masked[at:after])
        at = after
    yield from _sentence(text[at:end], masked[at:end])


def _sentence(text: str, masked: str) -> Iterator[Sentence]:
    if any(map(str.isalnum, masked)):
        yield Sentence(" ".join(text.split()).rstrip("*_ "), " ".join(masked.split()).rstrip("*_ "))


def _ends_intro(masked: str, blank: int) -> bool:
    """Whether the line before a blank line introduces a reported text, which the blank line does not end then."""
    before = masked[max(0, blank - 200) : blank].rstrip().rpartition("\n")[2]
    return bool(_REPORTED.search(before))


def _blank_lines(found: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else " " for character in found[0])


def _masked(quotation: str) -> str:
    """The quotation, masked; a single word in quotation marks is the person's own: "call it "alpha""."""
    if len(quotation.split()) < 2 and quotation[0] not in "「『":
        return quotation
    return "".join("\n" if character == "\n" else MASK for character in quotation)
