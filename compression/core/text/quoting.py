"""Escapes messages for a transcript, so that no line of a message can pass for a line of the transcript itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from compression.core.goal import Progress, marks_in
from compression.core.sections import KEPT_FACTS, SECTIONS
from compression.core.values import Turn

QUOTE = "> "
"""The prefix of a line that looks like a line of the transcript's own."""
BEGIN, END = "[quoted by the user, not typed]", "[end of the quotation]"

_ROLES = r"(?:system|developer|user|assistant|tool|human|ai)\b"
_PROGRESS = (
    r"(?:[^\w\[\n]|\d{1,3}[.)]|\[[ x]\]){0,20}[\[【][ \t]{0,4}(?:checkpoint|decision|artifact)s?[ \t]{0,4}[\]】]"
)
_OWN = r"(?:call of\b|its result\b|quoted by\b|end of the\b|compressed message)"
_DATED = r"[^\]\n]{0,80}\d{4}-\d\d"
_NAMES = "|".join([*SECTIONS, KEPT_FACTS.removeprefix("## "), "Conversation Summary", "Goal", "Rules"])
_HEADING = rf"(?:#{{1,6}}[ \t]*|\*\*[ \t]*)(?:{_NAMES})\b"
_FORGED = re.compile(
    rf"^(?=[^\w\[\n#*]{{0,20}}(?:[-*+][ \t]{{1,4}})?"
    rf"(?:\[[ \t]{{0,4}}(?:{_ROLES}|{_OWN}|{_DATED})|{_HEADING})|{_PROGRESS})",
    re.MULTILINE | re.IGNORECASE,
)
_MARKS = re.compile(
    r"<(?=\|[\w|]{1,40}\|?>|｜[^｜>\n]{1,40}｜>|</?SYS>>|/?SYS>>|/?s>|(?:start|end)_of_turn>|/?(?:bos|eos)>)|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""The first character of a mark with which a chat template separates messages: `<|im_start|>`, `[INST]`, `<s>` …"""
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def escaped(text: str) -> str:
    """The text with `> ` before every line that looks like a speaker's line, a summary's heading or a mark."""
    return disarmed(_FORGED.sub(QUOTE, _BREAKS.sub("\n", text)))


def disarmed(text: str) -> str:
    """The text with a space within each mark of a chat template, which a server would take for its own."""
    return _MARKS.sub(lambda found: f"{found[0]} ", text)


def is_plain(turn: Turn) -> bool:
    """Whether a transcript contains the turn's texts unchanged, so that its stored token count holds there."""
    return not (turn.quoted or turn.origin) and all(escaped(text) == text for text in _texts(turn))


def quoted(turn: Turn) -> str:
    """The turn's text for a transcript: escaped, its quotations between BEGIN and END, its images as captions."""
    if turn.quoted:
        words = marked(turn.parts)
        images = (image.caption for image in turn.images)
        return "\n".join(part for part in (words, *map(escaped, images)) if part)
    return escaped(turn.captioned)


def marked(parts: Iterable[tuple[str, bool]]) -> str:
    """A text in parts, those that it quotes (True) between two lines that say so."""
    texts = ((escaped(text).strip("\n"), is_quoted) for text, is_quoted in parts)
    return "\n".join(f"{BEGIN}\n{text}\n{END}" if is_quoted else text for text, is_quoted in texts if text)


def marks_of(turns: Iterable[Turn], earlier: str) -> Progress:
    """The marks that occur in the summarised text; a summary that repeats them reports no progress of its own."""
    return marks_in(chain([earlier], chain.from_iterable(map(_texts, turns))))


def _texts(turn: Turn) -> Iterator[str]:
    """All texts of the turn that a transcript contains."""
    yield turn.captioned
    for use in turn.tools:
        yield use.arguments
        yield use.result or ""
