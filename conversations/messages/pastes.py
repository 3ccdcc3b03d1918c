"""Parses the composer's form into a message's text and the long texts pasted into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conversations.errors import Invalid
from conversations.validation import parse_json

MAX_PARTS = 500
MAX_NUMBER = 2**31 - 1
"""The largest number that the column holds."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """`length` characters of a message's content from the `start`-th on, pasted as `[LongText#number]`."""

    number: int
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class JoinedText:
    """A message's text, joined from its parts, and the pastes in it."""

    content: str
    pastes: tuple[Pasted, ...] = ()


def parse_pastes(text: str) -> JoinedText:
    """The parts of a message as the composer sends them, expanded exactly.

    JSON: `[{"text": "see "}, {"paste": 1, "text": "..."}]`, in order. Raises Invalid, which names `parts`.
    """
    try:
        parts = parse_json(text)
    except Invalid as fault:
        raise _invalid(fault.message) from None
    if not isinstance(parts, list):
        raise _invalid("must be a list.")
    if len(parts) > MAX_PARTS:
        raise _invalid(f"at most {MAX_PARTS}, not {len(parts):,}.", limit=MAX_PARTS)
    pastes: list[Pasted] = []
    start = 0
    for place, part in enumerate(parts):
        number = _number(place, part)
        if number is not None:
            pastes.append(Pasted(number, start, len(part["text"])))
        start += len(part["text"])
    if len({paste.number for paste in pastes}) < len(pastes):
        raise _invalid("no number of a paste may appear twice.")
    return JoinedText("".join(part["text"] for part in parts), tuple(paste for paste in pastes if paste.length))


def parse_pasted(text: str) -> tuple[str, ...]:
    """The texts that were pasted among a message's words, as the page sends them: a JSON list. Raises Invalid."""
    try:
        texts = parse_json(text)
    except Invalid as fault:
        raise _refused(fault.message) from None
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise _refused("must be a list of texts.")
    if len(texts) > MAX_PARTS:
        raise _refused(f"at most {MAX_PARTS}, not {len(texts):,}.", limit=MAX_PARTS)
    return tuple(texts)


def _refused(what: str, **detail: Any) -> Invalid:
    return Invalid(f"pasted: {what}", field="pasted", **detail)


def _number(place: int, part: Any) -> int | None:
    """The number of a paste; None for a typed part. Raises Invalid for anything else."""
    if not isinstance(part, dict) or not part.keys() <= {"text", "paste"} or not isinstance(part.get("text"), str):
        raise _invalid('must be {"text": …} or {"paste": …, "text": …}.', place)
    if "paste" not in part:
        return None
    number = part["paste"]
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MAX_NUMBER:
        raise _invalid("the number of a paste must be a whole one from 1 on.", place)
    return number


def _invalid(fault: str, place: int | None = None, **detail: Any) -> Invalid:
    where = "parts" if place is None else f"parts[{place}]"
    return Invalid(f"{where}: {fault}", field="parts", **detail)
