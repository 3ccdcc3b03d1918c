"""Facts of a text: what a summary must not lose, how much of it stands in one, and how it is repaired."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import log

from compression.core.patterns import CHUNK, DATE, EMAIL, MEASURE, QUOTED, URL, kind_of
from compression.core.ports import TokenCounter
from compression.core.rules import find_rules
from compression.core.said import Said, led
from compression.core.sections import KEPT_FACTS
from compression.core.stopwords import ENGLISH

WEIGHTS = {
    "rule": 12.0,
    "error": 6.0,
    "order": 2.0,
    "path": 5.0,
    "url": 4.0,
    "email": 4.0,
    "date": 3.5,
    "number": 3.5,
    "identifier": 3.0,
    "quoted": 2.0,
    "name": 2.0,
    "plain": 1.5,
}
"""Importance by kind; a fact said n times counts 1 + ln(n) / 4 of it. An order is no rule: no person typed it."""

CRITICAL = frozenset({"rule", "error", "path", "number", "identifier"})
"""Kinds without which work cannot go on; of numbers, those that have a unit or a shape of their own."""

_PATTERNS = (("url", URL), ("email", EMAIL), ("date", DATE), ("number", MEASURE))
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_WORD = re.compile(r"\w+", re.ASCII)
_LONGEST_NAME = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing said, verbatim but for whitespace. `kind` is a key of `WEIGHTS`; a higher `weight` matters more.

    `speaker` and `day` are those of the first time, where they are known.
    """

    kind: str
    text: str
    weight: float
    speaker: str = ""
    day: date | None = None


def find_facts(texts: Iterable[str | Said]) -> tuple[Fact, ...]:
    """Distinct facts of `texts`, most important first, then in the order of appearance; linear in their length."""
    seen: Counter[str] = Counter()
    first: dict[str, tuple[str, str, Said]] = {}
    for each in texts:
        said = Said(each) if isinstance(each, str) else each
        for kind, found in _each(_UNPRINTABLE.sub(" ", said.text), may_rule=said.may_rule):
            key = normalised(found)
            seen[key] += 1
            if key not in first or (kind == "rule" and first[key][0] != "rule"):
                first[key] = kind, found, said
    facts = [
        Fact(
            "number" if kind == "plain" else kind,
            found,
            WEIGHTS[kind] * (1 + log(seen[key]) / 4),
            said.speaker,
            said.day,
        )
        for key, (kind, found, said) in first.items()
    ]
    return tuple(sorted(facts, key=lambda fact: -fact.weight))


def kept_facts(facts: Iterable[Fact], summary: str) -> tuple[Fact, ...]:
    """The facts whose text stands in `summary`, whatever its case and spacing, not inside a longer word."""
    text = normalised(summary)
    words = set(_WORD.findall(text))
    return tuple(fact for fact in facts if _stands(normalised(fact.text), text, words))


def is_critical(fact: Fact) -> bool:
    """Whether it is of a kind in `CRITICAL`; a bare number, which weighs less than its kind, is not."""
    return fact.kind in CRITICAL and fact.weight >= WEIGHTS[fact.kind]


def repair(summary: str, missing: Sequence[Fact], *, budget: int, count: TokenCounter) -> tuple[str, tuple[Fact, ...]]:
    """Append facts verbatim under `## Kept facts`, in their order, adding at most `budget` tokens.

    A fact that does not fit is passed over for a shorter one. Returns the new summary and the facts that were added.
    """
    text, left = summary, budget
    before = count(summary)
    added: list[Fact] = []
    for fact in missing:
        if count(fact.text) <= left:  # else it need not be tried: the whole text is what counts
            longer = with_facts(summary, [*added, fact])
            if (cost := count(longer) - before) <= budget:
                text, left = longer, budget - cost
                added.append(fact)
    return text, tuple(added)


def with_facts(summary: str, facts: Sequence[Fact]) -> str:
    """The summary with the facts at the end of its section of kept facts, which is not always its last."""
    head = summary if KEPT_FACTS in summary.splitlines() else f"{summary.rstrip()}\n\n{KEPT_FACTS}".lstrip()
    before, heading, after = head.partition(KEPT_FACTS)
    section, mark, rest = after.partition("\n## ")
    lines = "\n".join(_lines(facts))
    return f"{before}{heading}{section.rstrip()}\n{lines}{f'{chr(10)}{mark}{rest}' if mark else ''}"


def normalised(text: str) -> str:
    return " ".join(text.split()).casefold()


def _each(text: str, *, may_rule: bool) -> Iterator[tuple[str, str]]:
    """(kind, text) of every fact of one text. What one pattern took is blanked, so that it is found once."""
    for rule in find_rules(text):
        yield "rule" if may_rule else "order", rule
    yield from _quoted(text)
    for kind, pattern in _PATTERNS:
        found = [match.rstrip(".,;:!?") for match in pattern.findall(text)]
        yield from ((kind, match) for match in found)
        if found:
            text = pattern.sub(" \n ", text)
    for chunk in CHUNK.findall(text):
        if shape := kind_of(chunk):
            yield shape
    yield from (("name", name) for name in _names(text))


def _quoted(text: str) -> Iterator[tuple[str, str]]:
    for groups in QUOTED.findall(text):
        quoted = " ".join("".join(groups).split())
        if len(quoted) > 2 and any(character.isalnum() for character in quoted):
            kind = None if " " in quoted else kind_of(quoted)
            yield kind or ("quoted", quoted)


def _names(text: str) -> Iterator[str]:
    """Runs of at most four capitalised words that do not begin a sentence, in any script with capitals."""
    for line in text.splitlines():
        run: list[str] = []
        starts = True
        for raw in line.split():
            word = raw.strip("()[]{}<>,;:.!?\"'“”‘’*_`")
            if not starts and word[:1].isupper() and _is_name(word):
                run.append(word)
                ends = raw[-1] != word[-1]
            else:
                ends = True
            if (ends and run) or len(run) == _LONGEST_NAME:
                yield " ".join(run)
                run = []
            starts = raw[-1] in '.!?:。！？"”'
        if run:
            yield " ".join(run)


def _is_name(word: str) -> bool:
    return (
        1 < len(word) <= 40
        and word.lower() not in ENGLISH
        and word.replace("'", "").replace("’", "").replace("-", "").isalpha()
    )


def _stands(fact: str, text: str, words: set[str]) -> bool:
    if not fact or not all(word in words for word in _WORD.findall(fact)):
        return False
    start = text.find(fact)
    while start >= 0:
        end = start + len(fact)
        if not _joins(text[start - 1 : start], fact[0], text[start - 2 : start - 1]) and not _joins(
            fact[-1], text[end : end + 1], text[end + 1 : end + 2]
        ):
            return True
        start = text.find(fact, start + 1)
    return False


def _joins(left: str, right: str, beyond: str) -> bool:
    """Whether two neighbouring characters belong to one word, or to one number through a point."""
    if not left or not right:
        return False
    return (_is_word(left) and _is_word(right)) or (
        beyond.isdigit() and ((left.isdigit() and right in ".,") or (left in ".," and right.isdigit()))
    )


def _is_word(character: str) -> bool:
    """Letters of scripts that write no spaces between words never join: their neighbours are other words."""
    return (
        (character.isalnum() or character == "_")
        and not "\u0e00" <= character <= "\u0fff"
        and not "\u3040" <= character <= "\ud7ff"
    )


def _lines(facts: Sequence[Fact]) -> Iterator[str]:
    """One a speaker and day, one a fact of those of whom nothing is known; orders in quotation marks."""
    groups: dict[tuple[str, date | None], list[str]] = {}
    for fact in facts:
        said = f'"{fact.text}"' if fact.kind == "order" else fact.text
        groups.setdefault((fact.speaker, fact.day), []).append(said)
    for (speaker, day), texts in groups.items():
        yield from [f"{led(speaker, day)}{'; '.join(texts)}"] if speaker else [f"- {text}" for text in texts]
