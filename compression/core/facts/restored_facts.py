"""Puts facts that a summary lacks back into it, under `## Kept facts`: the sentences with their speaker and date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from compression.core.facts.find import is_critical, normalised, stands, words_in
from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.rules import find_rules
from compression.core.sections import KEPT_FACTS
from compression.core.text.quoting import disarmed, escaped
from compression.core.text.sentences import clean, one_line
from compression.core.text.statements import USER, kept_line_start
from compression.core.tokens import TokenCounter
from compression.core.values import Fact

MAX_SENTENCE_CHARS, MAX_CLAUSE_CHARS = 400, 60
"""The maximum length in characters of a restored sentence, and of the words around a fact if its sentence has no room.

An ellipsis "…" marks a cut.
"""
MAX_OCCURRENCES = 8
"""Occurrences of a fact in its source that are looked at for its sentence: the others may be parts of words."""
MAX_EXACT_COUNTS = 10
"""The number of counts of the whole summary, when the sum of its lines does not decide whether one more line fits."""
LINE_TOKENS = 1
"""Tokens by which a line in its place may differ from the same line alone."""

_END = lazy_pattern(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+\s+|[。！？｡]+|\n+")
_SPACE = lazy_pattern(r"\s")
_ENDS = tuple(".!?…。！？｡\"'”’)")

Entry = tuple[Fact, str]
"""A fact with its text in the summary: its sentence, or the words around it."""


def repair(summary: str, missing: Sequence[Fact], *, budget: int, count: TokenCounter) -> tuple[str, tuple[Fact, ...]]:
    """Put the sentences of the missing facts under `## Kept facts`, in their order, adding at most `budget` tokens.

    If a sentence has no room, the words around the fact are used, and for a critical fact at least the fact itself;
    others are skipped. One sentence serves all facts in it. Returns the new summary and the facts that it contains. The
    time is linear in the facts.
    """
    added = _Added(summary, budget, count)
    for fact in missing:
        if not added.covers(fact):
            forms = (sentence_of(fact), clause_of(fact), *([fact.text] if is_critical(fact) else []))
            any(added.takes(fact, form) for form in forms)
    text = added.fitted()
    return text, tuple(fact for fact in missing if added.covers(fact))


def with_facts(summary: str, facts: Sequence[Fact]) -> str:
    """The summary with the facts' sentences at the end of its section `## Kept facts`, which need not be the last."""
    return _with_entries(summary, [(fact, sentence_of(fact)) for fact in facts])


def sentence_of(fact: Fact) -> str:
    """The sentence of the fact's source that has it, on one line; the fact alone where its source is not known."""
    return _around(fact, MAX_SENTENCE_CHARS)


def clause_of(fact: Fact) -> str:
    """The words of the fact's source around it, on one line."""
    return fact.text if fact.kind in ("rule", "order") else _around(fact, MAX_CLAUSE_CHARS)


class _Added:
    """The entries that are added to a summary, within a budget of tokens."""

    def __init__(self, summary: str, budget: int, count: TokenCounter) -> None:
        self._summary, self._budget, self._count = summary, budget, count
        self._entries: list[Entry] = []
        self._text, self._words = "", set[str]()
        self._lines: set[tuple[str, date | None]] = set()
        self._spent = 0 if KEPT_FACTS in summary.splitlines() else count(f"\n\n{KEPT_FACTS}") + LINE_TOKENS
        self._before: int | None = None
        self._exact_counts = 0

    def covers(self, fact: Fact) -> bool:
        """Whether one of the entries has the fact."""
        return stands(normalised(fact.text), self._text, self._words)

    def takes(self, fact: Fact, text: str) -> bool:
        """Add an entry if it fits."""
        line = (fact.speaker, fact.day)
        begins = not fact.speaker or line not in self._lines
        cost = self._count(f"{kept_line_start(*line) if begins else ' '}{_shown(fact, text)}") + LINE_TOKENS
        over = self._spent + cost - self._budget
        if over > 0 and (over > LINE_TOKENS * (len(self._entries) + 3) or not self._fits_exactly((fact, text))):
            return False
        self._entries.append((fact, text))
        self._note(text)
        self._lines.add(line)
        self._spent += cost
        return True

    def fitted(self) -> str:
        """The summary with as many entries, from the first on, as the budget allows."""
        while self._entries:
            text = _with_entries(self._summary, self._entries)
            if self._count(text) - self._own_tokens() <= self._budget:
                return text
            self._entries.pop()
            self._text, self._words = "", set()
            for _, entry in self._entries:
                self._note(entry)
        return self._summary

    def _note(self, entry: str) -> None:
        text = normalised(entry)
        self._text = f"{self._text}\n{text}"
        self._words |= words_in(text)

    def _fits_exactly(self, entry: Entry) -> bool:
        self._exact_counts += 1
        if self._exact_counts > MAX_EXACT_COUNTS:
            return False
        return self._count(_with_entries(self._summary, [*self._entries, entry])) - self._own_tokens() <= self._budget

    def _own_tokens(self) -> int:
        if self._before is None:
            self._before = self._count(self._summary)
        return self._before


def _with_entries(summary: str, entries: Sequence[Entry]) -> str:
    head = summary if KEPT_FACTS in summary.splitlines() else f"{summary.rstrip()}\n\n{KEPT_FACTS}".lstrip()
    before, heading, after = head.partition(KEPT_FACTS)
    section, mark, rest = after.partition("\n## ")
    lines = disarmed("\n".join(_lines(entries)))
    return f"{before}{heading}{section.rstrip()}\n{lines}{f'{chr(10)}{mark}{rest}' if mark else ''}"


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of kept facts: one line for each speaker and day, one for each fact without a speaker."""
    groups: dict[tuple[str, date | None], list[str]] = {}
    for fact, text in entries:
        texts = groups.setdefault((fact.speaker, fact.day), [])
        if (shown := _shown(fact, text)) not in texts:
            texts.append(shown)
    for (speaker, day), texts in groups.items():
        yield from [f"{kept_line_start(speaker, day)}{_joined(texts)}"] if speaker else [f"- {text}" for text in texts]


def _joined(texts: Sequence[str]) -> str:
    *others, last = texts
    return "".join(f"{text} " if text.endswith(_ENDS) else f"{text.rstrip(':')}; " for text in others) + last


def _shown(fact: Fact, text: str) -> str:
    """The text in its line: in quotation marks if it has an order that is not the person's."""
    orders = fact.kind == "order" or (fact.kind != "rule" and fact.speaker not in ("", USER) and find_rules(text))
    return f'"{text}"' if orders else text


def _around(fact: Fact, limit: int) -> str:
    """The fact in its sentence, or in its words next to it, of at most `limit` characters beside the fact."""
    if fact.kind == "image":
        return f"[image: {fact.text}]"
    wanted, at = normalised(fact.text), fact.source.find(fact.text)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            break
        text = escaped(one_line(clean(_cut(fact.source, at, at + len(fact.text), limit))))
        compared = normalised(text)
        if stands(wanted, compared, words_in(compared)):
            return text
        at = fact.source.find(fact.text, at + 1)
    return fact.text


def _cut(source: str, start: int, end: int, limit: int) -> str:
    """The sentence around a place in the source; of a long one, the words next to the place."""
    side = max(0, limit - (end - start)) // 2
    return f"{_left(source, start, side)}{source[start:end]}{_right(source, end, side)}"


def _left(source: str, start: int, side: int) -> str:
    """The sentence's words before `start`, within `side` characters."""
    floor = max(0, start - side)
    ends = [found.end() for found in _END.finditer(source, floor, start)]
    if ends or floor == 0:
        return source[ends[-1] if ends else 0 : start].lstrip()
    space = _SPACE.search(source, floor - 1, start)
    return f"… {source[space.end() if space else start : start]}"


def _right(source: str, end: int, side: int) -> str:
    """The sentence's words from `end` on, within `side` characters."""
    ceiling = min(len(source), end + side)
    if (found := _END.search(source, end, ceiling)) or ceiling == len(source):
        return source[end : found.end() if found else ceiling].rstrip()
    spaces = [space.start() for space in _SPACE.finditer(source, end, ceiling + 1)]
    return f"{source[end : spaces[-1] if spaces else end]} …"
