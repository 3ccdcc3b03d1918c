"""Splits a message into pieces: sentences of prose, lines of code, commands, errors. A note keeps one piece."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from compression.core.text.expressions import any_of
from compression.core.text.patterns import UNSPACED
from compression.core.text.sentences import clean, one_line, sentences, split_long


class UnitKind(StrEnum):
    """The kinds of pieces, and of notes made from them."""

    FIRST_PERSON = "first person"
    STATEMENT = "statement"
    ADDRESS = "address"
    QUESTION = "question"
    EXCLAMATION = "exclamation"
    PHATIC = "phatic"
    CAPTION = "caption"
    COMMAND = "command"
    ERROR = "error"
    PLACE = "place"
    BODY = "body"
    OUTPUT = "output"
    CODE = "code"
    LISTING = "listing"
    FILE = "file"
    NOTE = "note"
    MENTION = "mention"


TECHNICAL = frozenset(
    {
        UnitKind.COMMAND,
        UnitKind.ERROR,
        UnitKind.PLACE,
        UnitKind.BODY,
        UnitKind.OUTPUT,
        UnitKind.CODE,
        UnitKind.LISTING,
        UnitKind.MENTION,
    }
)


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A sentence or a line of a message, on one line."""

    kind: UnitKind
    text: str


_FENCE = re.compile(r"\s*(?:```|~~~)\s*([\w+-]*)")
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "powershell", "cmd"})
_PROMPT = re.compile(r"(?:[\w@:~/.-]{0,60}[$#%>]|bash-\$)\s+(?=\S)")
_EMPTY = re.compile(r"\s*(?:(?:</?\w+\s*/?>\s*)+|(?:bash|sh)[\w.-]{0,8}[$#]\s*|\(\d+ more lines (?:above|below)\)\s*)")
"""Lines without content: tags without attributes, a prompt without a command, or the number of lines not shown."""
_OPENER = re.compile(r"(?:- )?[\w.-]{1,60}:")
"""A line of a fence that only introduces the lines below it, as in YAML, and has no content of its own."""
_CONTINUED = re.compile(r"(?<=[^\s\\]) ?\\\n[ \t]*")
"""The end of a line that a shell joins with the next one."""
_NUMBERED = re.compile(r"^\s*\d{1,6}(?:[:|\t]|\s*→)")
_ERROR = re.compile(
    r"\s*(?:[-*]\s*)?(?:[\w.]{0,80}(?:Error|Exception|Warning|Failure)\b|E\d{3,4}\b"
    r"|error\b|Traceback\b|ERROR\b|FATAL\b|fatal:|panic:|FAIL(?:ED|URE)?\b|npm ERR!)"
)
_PLACE = re.compile(r"\s*[\[(](?:Open file|Current directory|File)\b.{1,200}[\])]\s*|\s*cd\s+\S+\s*")
_CAPTION = re.compile(r"\s*\[(?:shared an? |image|photo|attachment|file\b).{0,400}\]\s*", re.IGNORECASE)
_SHARED_IMAGE = re.compile(
    r"(?:shared|sent|attached) an? (?:image|photo|picture): (?:an? (?:photo|photography|picture|image) of )?",
    re.IGNORECASE,
)
_SYMBOLS = frozenset("{}()[]<>=;_/\\|$&*+^~@")
_FIRST = re.compile(r"\b(?:I|I'm|I've|I'll|I'd|my|My|me|we|We|our|Our|mine|we're|we've|I’m|I’ve|I’ll|I’d)\b")
_SECOND = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|you’re|you’ve|you’ll|yourself)\b", re.IGNORECASE)
_PERSONS = tomllib.loads(Path(__file__).with_name("persons.toml").read_text(encoding="utf-8"))
_OTHER_FIRST, _OTHER_SECOND = any_of(_PERSONS["first"]), any_of(_PERSONS["second"])
_PHATIC_WORDS = 7
"""The most words of a sentence that says nothing; in Chinese and Japanese, letters, as one word has one or two."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


def pieces_of(content: str, *, output: bool = False) -> tuple[TextUnit, ...]:
    """The pieces of a message in order. `output`: a tool printed it; else this is guessed from its lines."""
    lines = _CONTINUED.sub(" ", clean(content)).splitlines()
    output = output or _is_output(lines)
    pieces: list[TextUnit] = []
    fence: str | None = None
    for line in lines:
        if opened := _FENCE.match(line):
            fence = None if fence is not None else opened[1].lower()
            first = fence is not None
            continue
        bare = _NUMBERED.sub("", line)
        text = one_line(bare)
        if not any(map(str.isalnum, text)) or _EMPTY.fullmatch(bare):
            continue
        if fence is not None and _OPENER.fullmatch(text):
            continue
        if fence is not None:
            pieces.append(TextUnit(_fenced_kind(text, fence, first), text))
            first = False
        else:
            pieces += _unfenced(line, text, output or bare is not line)
    return tuple(TextUnit(piece.kind, part) for piece in pieces for part in split_long(piece.text))


def _is_output(lines: Sequence[str]) -> bool:
    """Whether the lines outside of fences look printed: one names a place, or more than half are numbered or code."""
    fenced = False
    printed = written = 0
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            if _PLACE.fullmatch(line):
                return True
            written += 1
            printed += bool(_NUMBERED.match(line) or _is_code(line.strip()))
    return printed * 2 > written


def _fenced_kind(text: str, language: str, first: bool) -> UnitKind:
    if _ERROR.match(text):
        return UnitKind.ERROR
    if language in _SHELLS or (not language and first):
        return UnitKind.COMMAND
    return UnitKind.LISTING if language else UnitKind.BODY


def _unfenced(line: str, text: str, output: bool) -> list[TextUnit]:
    if _PLACE.fullmatch(line):
        return [TextUnit(UnitKind.PLACE, text)]
    if _CAPTION.fullmatch(line):
        return [TextUnit(UnitKind.CAPTION, _SHARED_IMAGE.sub("photo: ", text.strip("[]")))]
    if (prompt := _PROMPT.match(line)) and len(prompt.group()) > 2:
        return [TextUnit(UnitKind.COMMAND, one_line(line[prompt.end() :]))]
    if _ERROR.match(line) and (output or ":" in line):
        return [TextUnit(UnitKind.ERROR, text)]
    if _is_code(text):
        return [TextUnit(UnitKind.CODE, text)]
    if output:
        return [TextUnit(UnitKind.OUTPUT, text)]
    return [TextUnit(_prose_kind(sentence), sentence) for sentence in sentences(text)]


def _is_code(text: str) -> bool:
    """Whether a line looks like code: more than one character in eight is a symbol, or it ends with {, } or ;."""
    return text[-1] in "{};" or 8 * sum(map(_SYMBOLS.__contains__, text)) > len(text)


def _prose_kind(sentence: str) -> UnitKind:
    words = sentence.split()
    count = len(words) + len(_UNSPACED.findall(sentence))
    is_first = bool(_FIRST.search(sentence) or _OTHER_FIRST.search(sentence.lower()))
    bare = sentence.rstrip("\"'”’)")
    named = any(word[0].isupper() and word.strip(",.!?") not in ("I", "I'm") for word in words[1:])
    if count <= _PHATIC_WORDS and not any(map(str.isdigit, sentence)) and not named and not is_first:
        return UnitKind.QUESTION if bare.endswith(("?", "？")) else UnitKind.PHATIC
    if bare.endswith(("?", "？")):
        return UnitKind.QUESTION
    if is_first:
        return UnitKind.FIRST_PERSON
    if _SECOND.search(sentence) or _OTHER_SECOND.search(sentence.lower()):
        return UnitKind.ADDRESS
    return UnitKind.EXCLAMATION if bare.endswith("!") else UnitKind.STATEMENT
