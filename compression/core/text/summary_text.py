"""Cleans the text that a summariser wrote, and rejects texts that cannot be a summary."""

from __future__ import annotations

import re

from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.sections import SECTIONS, SUMMARY
from compression.core.text.quoting import disarmed
from compression.core.values import SummariserOutput

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_REASONING = re.compile(r"\A.*</(think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_NOTHING = re.compile(r"^## .*$|\b(none|n/?a|nothing|unknown|tbd)\b|[\W_]", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(
    rf"^[ \t]*+(?:#{{1,6}}+[ \t]*+|\*\*)({'|'.join(SECTIONS)})[ \t]*+(?:\*\*)?+[ \t]*+:?+[ \t]*+(?:\*\*)?+[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
"""All quantifiers are possessive: adjacent parts that match blanks would otherwise backtrack exponentially."""
_REFUSAL = re.compile(
    r"\A\W*(i(?:'|’)?m sorry|i am sorry|sorry,|i can(?:'|’)?t|i cannot|i(?:'|’)?m (?:not able|unable)"
    r"|i am (?:not able|unable)|as an ai)\b",
    re.IGNORECASE,
)


def accepted(written: SummariserOutput) -> str:
    """The cleaned summary. Raises CompactionFailed("validate", …) if it is cut off, empty, a refusal or shapeless."""
    if not written.finished:
        raise CompactionFailed("validate", "the summary was cut off", code=ErrorCode.CUT_OFF)
    text = disarmed(clean(written.text))
    if not text:
        raise CompactionFailed("validate", "the summary is empty", code=ErrorCode.EMPTY_REPLY)
    if _REFUSAL.match(text.removeprefix(SUMMARY)):
        raise CompactionFailed("validate", "the model refused to summarise", code=ErrorCode.REFUSAL)
    require_headings(text)
    return text


def clean(text: str) -> str:
    """The text without reasoning and without anything before `## Summary`; headings get their standard form."""
    text = _END_OF_REASONING.sub("", _REASONING.sub("", text))
    text = _HEADING.sub(lambda found: f"## {found[1].capitalize()}", text)
    start = text.find(SUMMARY)
    return (text[start:] if start >= 0 else text).strip().removesuffix("```").rstrip()


def require_headings(text: str) -> None:
    """Raise CompactionFailed unless the text has `## Summary`, another section, and words below a heading."""
    present = [name for name in SECTIONS if re.search(rf"^## {name}$", text, re.MULTILINE)]
    if SECTIONS[0] not in present or len(present) < 2:
        reason = f"the summary lacks its headings; it has {', '.join(present) or 'none'}"
        raise CompactionFailed("validate", reason, code=ErrorCode.NO_HEADINGS)
    if not _NOTHING.sub("", text):
        reason = "the summary has headings and nothing under them"
        raise CompactionFailed("validate", reason, code=ErrorCode.NO_HEADINGS)
