"""Removes answered requests from a summary's open points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compression.core.lazy_pattern import lazy_pattern
from compression.core.text.sentences import sentences
from compression.core.text.terms import terms_of
from compression.core.values import Turn

MIN_SHARE = 0.7
"""The share of an open point's terms that a request has, from which on the point is that request."""
MIN_TERMS = 2
"""An open point of fewer terms names nothing that could be found."""

_OPEN = lazy_pattern(
    r"\b(?:open|pending|to-?dos?|to do|outstanding|next|remaining|unfinished|unresolved|waiting|blocked|tasks?"
    r"|offene?\w*|ausstehend\w*|unerledigt\w*|aufgaben?|nächste\w*|noch zu"
    r"|en cours|en attente|à faire|tâches?|prochaines?|pendientes?|por hacer|tareas?|próxim[oa]s"
    r"|in sospeso|da fare|attività|prossim[ie]|pendentes?|a fazer|tarefas?"
    r"|открыт\w*|задач\w*|осталось|далее|дальше)\b|待办|待处理|未完成|未解决|下一步|任务|未完了|未対応|タスク|次の",
    re.IGNORECASE,
)
"""The words of a heading or label of open points."""
_HEADING = lazy_pattern(r"#{1,6}\s+(?P<name>[^\s:：][^:：\n]{0,59}?)\s*(?:[:：]\s*(?P<point>\S.*))?$")
_LABEL = lazy_pattern(
    r"(?P<lead>(?:[-*•]\s+)?(?:\*\*)?(?P<name>[^\s*:：|#][^*:：|#\n]{0,39}?)(?:\*\*)?[:：](?:\*\*)?)\s*"
)
_BOLD = lazy_pattern(r"\*\*(?P<name>[^*\n]{1,60})\*\*[:：]?\s*$")
_BULLET = lazy_pattern(r"\s*(?:[-*•+–]|\d{1,2}[.)])\s+(?:\[ \]\s+)?")
_ENDED = lazy_pattern(
    r"\[[xX]\]|[✅✓✔☑]|~~|\b(?:done|completed|finished|resolved|erledigt|fertig|fait|terminé\w*|hech[oa]"
    r"|complet[oa]d?[oa]?|fatt[oa]|feit[oa]|готов\w*|выполнен\w*)\b|已完成|完了済|済み",
    re.IGNORECASE,
)
"""The words and signs of a point that is no longer open."""
_STATED_OPEN = lazy_pattern(
    r"\b(?:pending|outstanding|unfinished|still (?:to be|to|has to|have to|needs? to|open|waiting)"
    r"|not (?:yet )?(?:been )?done"
    r"|remains? (?:open|to be)|is open|to be done|steht (?:noch )?aus|noch offen|noch zu)\b",
    re.IGNORECASE,
)
"""The words of a sentence which says that something is open."""
_FRAME = frozenset(
    term.text
    for term in terms_of(
        "The user asked the assistant; the person wants, wanted, requested, needs: still open, pending, outstanding,"
        " remaining, to do, task, request, step, next, later."
    )
)
"""The terms of words that say only that a point was asked for, or is open."""
_DEFERS = lazy_pattern(
    r"\b(?:I'll|will|later|tomorrow|cannot|can't|could not|couldn't|unable|failed|not yet|still|once you|before I|"
    r"morgen|später|kann nicht|noch nicht|demain|plus tard|pas encore|mañana|luego|todavía no|domani|non ancora|"
    r"amanhã|ainda não|завтра|ещё не|не могу)\b|明天|稍后|还没|無法|明日|まだ|できません",
    re.IGNORECASE,
)
"""A reply with these words may leave its request open."""
_ASKS_KINDLY = lazy_pattern(
    r"(?:please\s+)?(?:can|could|would|will) you\b|(?:kannst|könntest|würdest) du\b|können Sie\b"
    r"|(?:peux-tu|pouvez-vous)\b|(?:puedes|podrías)\b|(?:puoi|potresti)\b|(?:podes|pode)\b|можешь\b|你能|可以",
    re.IGNORECASE,
)


class _Request(NamedTuple):
    """The terms of a person's sentence; `is_order`: it asks for something to do, not for an answer alone."""

    terms: frozenset[str]
    is_order: bool


def without_answered(summary: str, turns: Sequence[Turn]) -> str:
    """The summary without the open points that are requests of a person which the next reply answered."""
    answered = [request for request in _answered(turns) if len(request.terms) >= MIN_TERMS]
    if not answered:
        return summary
    requests, orders = [one.terms for one in answered], [one.terms for one in answered if one.is_order]
    lines: list[str] = []
    is_open = False
    for line in summary.splitlines():
        heading = _HEADING.match(line) or _BOLD.match(line)
        if heading:
            is_open = _is_open(heading["name"])
            point = heading.groupdict().get("point")
            if is_open and point and _is_answered(point, requests):
                line = line[: heading.start("point")].rstrip(":： ")
            lines.append(line)
            continue
        label = _LABEL.match(line)
        if label and _is_open(label["name"]) and not _BULLET.match(label["name"]):
            rest = line[label.end() :]
            is_open = is_open or not rest
            left = _left_open(rest, requests)
            if rest and not left:
                continue
            line = f"{label[0]}{left}"
        elif label and label.end() == len(line):
            is_open = False
        elif line.startswith("|"):
            if _OPEN.search(line) and not _ENDED.search(line) and _is_answered(line, orders):
                continue
        elif line.strip():
            bullet = _BULLET.match(line)
            lead = bullet[0] if bullet else ""
            left = _left_open(line[len(lead) :], requests if is_open else orders, is_stated=not is_open)
            if not left:
                continue
            line = f"{lead}{left}"
        lines.append(line)
    return "\n".join(lines)


def _is_open(name: str) -> bool:
    """Whether a heading or label with this name lists open points: "Open tasks", but not "Completed tasks"."""
    return bool(_OPEN.search(name)) and not _ENDED.search(name)


def _answered(turns: Sequence[Turn]) -> Iterator[_Request]:
    """The sentences of a person that a reply answers; of a reply in several parts, the last one with words counts."""
    asked = reply = ""
    for turn in turns:
        if turn.role == "assistant":
            reply = turn.content if turn.content.strip() else reply
        elif turn.role == "user":
            yield from _requests(asked, reply)
            asked, reply = turn.content, ""
    yield from _requests(asked, reply)


def _requests(asked: str, reply: str) -> Iterator[_Request]:
    if not reply or _DEFERS.search(reply):
        return
    for line in asked.splitlines():
        for sentence in sentences(line):
            is_question = sentence.rstrip().endswith(("?", "？")) and not _ASKS_KINDLY.match(sentence)
            yield _Request(_terms(sentence), is_order=not is_question)


def _left_open(text: str, requests: Sequence[frozenset[str]], *, is_stated: bool = False) -> str:
    """The points of a line, sentences or parts between semicolons, that no request answers.

    With `is_stated`, only points that say that they are open are looked at; the text is unchanged if all stay.
    """
    points = [point for sentence in sentences(text) for point in sentence.split("; ")]
    left = [
        point
        for point in points
        if (is_stated and not _STATED_OPEN.search(point)) or _ENDED.search(point) or not _is_answered(point, requests)
    ]
    return text if len(left) == len(points) else " ".join(left)


def _is_answered(point: str, requests: Sequence[frozenset[str]]) -> bool:
    terms = _terms(point) - _FRAME
    figures = {term for term in terms if any(map(str.isdigit, term))}
    return len(terms) >= MIN_TERMS and any(
        len(terms & request) >= MIN_SHARE * len(terms) and figures <= request for request in requests
    )


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in terms_of(text))
