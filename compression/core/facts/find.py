"""Finds the facts of a text that a summary must keep, and checks a summary for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log

from compression.core.ledger.rules import find_rules
from compression.core.text.patterns import CHUNK, DATE, EMAIL, MEASURE, QUOTED, SPACED, URL, kind_of, runs_of
from compression.core.text.statements import Statement
from compression.core.text.stopwords import ENGLISH
from compression.core.values import Fact

WEIGHTS = {
    "rule": 12.0,
    "error": 6.0,
    "order": 2.0,
    "path": 5.0,
    "image": 5.0,
    "url": 4.0,
    "email": 4.0,
    "date": 3.5,
    "number": 3.5,
    "identifier": 3.0,
    "quoted": 2.0,
    "name": 2.0,
    "plain": 1.5,
}
"""A fact's weight by its kind, times 1 + ln(n) / 4 if it occurs n times.

An order is a rule that the person did not type, such as a clause of a pasted text or a tool's result.
"""

CRITICAL = frozenset({"rule", "error", "path", "image", "number", "identifier"})
"""Kinds without which work cannot go on. A bare number, without a unit or a recognised format, is not critical."""

_PATTERNS = (("url", URL), ("email", EMAIL), ("date", DATE), ("number", MEASURE), ("plain", SPACED))
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_WORD = re.compile(r"\w+", re.ASCII)
_MAX_NAME_WORDS = 4


def find_facts(texts: Iterable[str | Statement]) -> tuple[Fact, ...]:
    """The distinct facts of `texts`, by descending weight, then in order of appearance; time is linear in the texts."""
    seen: Counter[str] = Counter()
    first: dict[str, tuple[str, str, Statement]] = {}
    for source in texts:
        statement = Statement(source) if isinstance(source, str) else source
        for kind, text in _each(statement):
            key = normalised(text)
            seen[key] += 1
            if key not in first or (kind == "rule" and first[key][0] != "rule"):
                first[key] = kind, text, statement
    facts = [
        Fact(
            "number" if kind == "plain" else kind,
            text,
            WEIGHTS[kind] * (1 + log(seen[key]) / 4),
            statement.speaker,
            statement.day,
            statement.text,
        )
        for key, (kind, text, statement) in first.items()
    ]
    return tuple(sorted(facts, key=lambda fact: -fact.weight))


def kept_facts(facts: Iterable[Fact], summary: str) -> tuple[Fact, ...]:
    """The facts that occur in `summary` as whole words; case and whitespace are ignored."""
    text = normalised(summary)
    words = words_in(text)
    return tuple(fact for fact in facts if stands(normalised(fact.text), text, words))


def is_critical(fact: Fact) -> bool:
    """Whether the fact's kind is in CRITICAL; a bare number, which weighs less than its kind, is not critical."""
    return fact.kind in CRITICAL and fact.weight >= WEIGHTS[fact.kind]


def normalised(text: str) -> str:
    """The text in lower case with single spaces, for comparisons of facts."""
    return " ".join(text.split()).casefold()


def _each(statement: Statement) -> Iterator[tuple[str, str]]:
    """(kind, text) of every fact in a text. Matches of a pattern are blanked, so that no later pattern matches them."""
    text = _UNPRINTABLE.sub(" ", statement.text)
    if statement.image:
        yield "image", " ".join(text.split())
        return
    for rule in find_rules(text):
        yield "rule" if statement.may_rule else "order", rule
    yield from _quoted(text)
    for kind, pattern in _PATTERNS:
        matches = [match.rstrip(".,;:!?") for match in pattern.findall(text)]
        yield from ((kind, match) for match in matches)
        if matches:
            text = pattern.sub(" \n ", text)
    for chunk in CHUNK.findall(text):
        yield from filter(None, map(kind_of, runs_of(chunk)))
    yield from (("name", name) for name in _names(text))


def _quoted(text: str) -> Iterator[tuple[str, str]]:
    for groups in QUOTED.findall(text):
        quoted = " ".join("".join(groups).split())
        if len(quoted) > 2 and any(character.isalnum() for character in quoted):
            kind = None if " " in quoted else kind_of(quoted)
            yield kind or ("quoted", quoted)


def _names(text: str) -> Iterator[str]:
    """Runs of at most `_MAX_NAME_WORDS` capitalised words that do not begin a sentence, in any script with capitals."""
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
            if (ends and run) or len(run) == _MAX_NAME_WORDS:
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


def words_in(text: str) -> set[str]:
    """The ASCII words of a text, by which `stands` excludes most facts at once."""
    return set(_WORD.findall(text))


def stands(fact: str, text: str, words: set[str]) -> bool:
    """Whether the fact occurs in the text, not as a part of a longer word or number; all are `normalised`."""
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
    """Whether two neighbouring characters belong to one word, or to one number with a decimal separator."""
    if not left or not right:
        return False
    return (is_word_character(left) and is_word_character(right)) or (
        beyond.isdigit() and ((left.isdigit() and right in ".,") or (left in ".," and right.isdigit()))
    )


def is_word_character(character: str) -> bool:
    """Whether the character can join its neighbour into a word.

    Letters of scripts without spaces between words never do: a neighbour may belong to the next word.
    """
    return (
        (character.isalnum() or character == "_")
        and not "\u0e00" <= character <= "\u0fff"
        and not "\u3040" <= character <= "\ud7ff"
    )
