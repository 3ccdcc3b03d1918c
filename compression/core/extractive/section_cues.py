"""Cue words that mark a statement as a decision, or as a report on the state of the work or of a file.

`section_cues.toml` has the words of each language.
"""

from __future__ import annotations

import tomllib
from itertools import chain
from pathlib import Path

from compression.core.sections import CONTEXT, DECISIONS, STATE
from compression.core.text.expressions import any_of

DONE = "Done"
STATES = (DONE, "Pending", "Blocked", "Next")

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_DECISION = any_of(_TABLE["decision"])
_STATE = tuple((label, any_of(_TABLE[label.lower()])) for label in ("Blocked", "Pending", "Next", DONE))
"""The labels with their cues; a statement with several cues has the first label."""
_ANY = any_of(chain(_TABLE["decision"], *(_TABLE[label.lower()] for label in STATES)))
_CHANGED = any_of(_TABLE["changed"])

MIN_DECISION_WORDS = 4
"""A decision in fewer words names nothing: "Decision made."."""


def _is_long_enough(statement: str) -> bool:
    return len(statement.split()) >= MIN_DECISION_WORDS or not statement.isascii()


def section_of(statement: str) -> tuple[str, str]:
    """(heading, label) of the section that the statement belongs to; the label is one of `STATES` or ""."""
    small = statement.lower()
    if not _ANY.search(small):
        return CONTEXT, ""
    if _DECISION.search(small) and not statement.rstrip().endswith("?") and _is_long_enough(statement):
        return DECISIONS, ""
    for label, cue in _STATE:
        if cue.search(small):
            return STATE, label
    return CONTEXT, ""


def reports_change(statement: str) -> bool:
    """Whether the statement reports that a file was changed."""
    return bool(_CHANGED.search(statement.lower()))
