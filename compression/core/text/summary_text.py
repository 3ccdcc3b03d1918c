"""Rejects texts of a summariser that cannot be a summary."""

from __future__ import annotations

import re

from compression.core.error_codes import ErrorCode
from compression.core.errors import CompactionFailed
from compression.core.sections import SUMMARY
from compression.core.text.quoting import disarmed
from compression.core.text.summary_forms import clean, has_sections, sections_of, without_closing
from compression.core.values import SummariserOutput

_NOTHING = re.compile(r"^## .*$|\b(none|n/?a|nothing|unknown|tbd)\b|[\W_]", re.MULTILINE | re.IGNORECASE)
_REFUSAL = re.compile(
    r"\A\W*(i(?:'|’)?m sorry|i am sorry|sorry,|i can(?:'|’)?t|i cannot|i(?:'|’)?m (?:not able|unable)"
    r"|i am (?:not able|unable)|as an ai)\b",
    re.IGNORECASE,
)


def accepted(written: SummariserOutput) -> str:
    """The cleaned summary. Raises CompactionFailed("validate", …) if it is cut off, empty, a refusal or shapeless."""
    if not written.finished:
        raise CompactionFailed("validate", "the summary was cut off", code=ErrorCode.CUT_OFF)
    text = disarmed(without_closing(clean(written.text)))
    if not text:
        raise CompactionFailed("validate", "the summary is empty", code=ErrorCode.EMPTY_REPLY)
    if _REFUSAL.match(text.removeprefix(SUMMARY)):
        raise CompactionFailed("validate", "the model refused to summarise", code=ErrorCode.REFUSAL)
    require_headings(text)
    return text


def require_headings(text: str) -> None:
    """Raise CompactionFailed unless the text has `## Summary`, another section, and words below a heading."""
    if not has_sections(text):
        reason = f"the summary lacks its headings; it has {', '.join(sections_of(text)) or 'none'}"
        raise CompactionFailed("validate", reason, code=ErrorCode.NO_HEADINGS)
    if not _NOTHING.sub("", text):
        reason = "the summary has headings and nothing under them"
        raise CompactionFailed("validate", reason, code=ErrorCode.NO_HEADINGS)
