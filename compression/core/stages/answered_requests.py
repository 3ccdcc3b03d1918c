"""Removes answered requests from a summary's open points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from compression.core.text.sentences import sentences
from compression.core.text.terms import terms_of
from compression.core.values import Turn

MIN_SHARE = 0.7
"""The share of an open point's terms that a request has, from which on the point is that request."""
MIN_TERMS = 2
"""An open point of fewer terms names nothing that could be found."""

_HEADING = re.compile(r"#{2,3}\s+(?P<name>[^\s:][^:\n]{0,59}?)\s*(?::\s*(?P<point>\S.*))?$")
_OPEN = re.compile(r"\b(?:open|pending|to-?dos?|to do|outstanding|next|remaining|tasks?)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?P<lead>(?:[-*]\s+)?(?:\*\*)?(?:Pending|Next|Blocked|To-?do|Open)(?:\*\*)?:(?:\*\*)?\s*)", re.IGNORECASE
)
_BULLET = re.compile(r"[-*]\s+(?:\[ \]\s+)?")
_DEFERS = re.compile(
    r"\b(?:I'll|will|later|tomorrow|cannot|can't|could not|couldn't|unable|failed|not yet|still|once you|before I|"
    r"morgen|später|kann nicht|noch nicht|demain|plus tard|pas encore|mañana|luego|todavía no|domani|non ancora|"
    r"amanhã|ainda não|завтра|ещё не|не могу)\b|明天|稍后|还没|無法|明日|まだ|できません",
    re.IGNORECASE,
)
"""A reply with these words may leave its request open."""


def without_answered(summary: str, turns: Sequence[Turn]) -> str:
    """The summary without the open points that are requests of a person which the next reply answered."""
    requests = [terms for terms in _answered(turns) if len(terms) >= MIN_TERMS]
    if not requests:
        return summary
    lines: list[str] = []
    is_open = False
    for line in summary.splitlines():
        if heading := _HEADING.match(line):
            is_open = bool(_OPEN.search(heading["name"]))
            if is_open and heading["point"] and _is_answered(heading["point"], requests):
                line = line[: heading.start("point")].rstrip(": ")
        elif label := _LABEL.match(line):
            left = _left_open(line[label.end() :], requests)
            if not left:
                continue
            line = f"{label['lead']}{left}"
        elif is_open and (bullet := _BULLET.match(line)) and _is_answered(line[bullet.end() :], requests):
            continue
        lines.append(line)
    return "\n".join(lines)


def _answered(turns: Sequence[Turn]) -> Iterator[frozenset[str]]:
    """The terms of each sentence of a person that the turn after it answers."""
    said = [turn for turn in turns if turn.role in ("user", "assistant")]
    for question, reply in pairwise(said):
        if question.role == "user" and reply.role == "assistant" and not _DEFERS.search(reply.content):
            for line in question.content.splitlines():
                for sentence in sentences(line):
                    yield _terms(sentence)


def _left_open(text: str, requests: Sequence[frozenset[str]]) -> str:
    """The points of a line, sentences or parts between semicolons, that no request answers."""
    points = [point for sentence in sentences(text) for point in sentence.split("; ")]
    return " ".join(point for point in points if not _is_answered(point, requests))


def _is_answered(point: str, requests: Sequence[frozenset[str]]) -> bool:
    terms = _terms(point)
    return len(terms) >= MIN_TERMS and any(len(terms & request) >= MIN_SHARE * len(terms) for request in requests)


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in terms_of(text))
