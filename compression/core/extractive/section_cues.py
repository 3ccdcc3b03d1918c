"""Cue words that mark a statement as a decision, or as a report on the state of the work."""

from __future__ import annotations

import re

from compression.core.sections import CONTEXT, DECISIONS, STATE

DONE = "Done"
STATES = (DONE, "Pending", "Blocked", "Next")

_DECISION = re.compile(
    r"\b(?:decided|decision|we(?:['’]ll| will| should)? (?:use|go with|stick (?:with|to))"
    r"|let['’]s (?:use|go with|stick (?:with|to))"
    r"|going with|chose|agreed (?:to|on|that)|settled (?:on|for)"
    r"|opted (?:for|to)|ruled out|rejected|root cause|trade-?off"
    r"|entschieden|beschlossen|décidé|decidido|deciso|решили)\b|决定|決定",
    re.IGNORECASE,
)
_STATE = (
    (
        "Blocked",
        re.compile(
            r"\b(?:blocked|stuck on|waiting (?:for|on)|cannot (?:proceed|continue)|can['’]t (?:proceed|continue))\b",
            re.IGNORECASE,
        ),
    ),
    (
        "Pending",
        re.compile(
            r"\b(?:to-?do\b|to do(?=:)|pending|still (?:need|needs|have|has) to|remains? to|left to do"
            r"|not yet|unfinished|outstanding)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "Next",
        re.compile(
            r"\b(?:next steps?|next, (?:I|we|let)|next (?:I|we)(?:['’]ll| will)|the plan is|planned next)\b",
            re.IGNORECASE,
        ),
    ),
    (
        DONE,
        re.compile(
            r"\b(?:(?:is|are|was|were|now|been|all) (?:done|finished|completed?|fixed|implemented|deployed|merged)"
            r"|(?:released|resolved|passing) now|(?:tests?|build) pass(?:es|ed)?|works now|successfully)\b",
            re.IGNORECASE,
        ),
    ),
)


MIN_DECISION_WORDS = 4
"""A decision in fewer words names nothing: "Decision made."."""


def _says_enough(statement: str) -> bool:
    return len(statement.split()) >= MIN_DECISION_WORDS or not statement.isascii()


def section_of(statement: str) -> tuple[str, str]:
    """(heading, label) of the section that the statement belongs to; the label is one of `STATES` or ""."""
    if _DECISION.search(statement) and not statement.rstrip().endswith("?") and _says_enough(statement):
        return DECISIONS, ""
    for label, cue in _STATE:
        if cue.search(statement):
            return STATE, label
    return CONTEXT, ""
