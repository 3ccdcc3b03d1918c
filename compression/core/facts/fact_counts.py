"""Counts the facts of all that was summarised: those that the first request after it had, and those of the next one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compression.core.facts.find import WEIGHTS, find_facts, kept_facts, normalised
from compression.core.text.statements import SUMMARY, statements_of
from compression.core.text.tool_arguments import plain_arguments
from compression.core.values import Checkpoint, CountedFact, Draft, Fact, Turn

GATE_FACTS = 50
"""A summariser is judged by this many of the condensed text's facts, the most important ones."""
TOKENS_PER_FACT, MAX_FACTS = 100, 1_000
"""The tokens of condensed text for each fact that is counted, and the most facts. At least GATE_FACTS are counted; the
most important ones come first."""


@dataclass(frozen=True, slots=True)
class FactsKept:
    """Numbers of facts of summarised messages: all that are counted, those that the first request after it had, those
    that the next request has. `missing` are those that the next request does not have.
    """

    found: int = 0
    at_first: int = 0
    now: int = 0
    missing: tuple[str, ...] = ()


def most_important(facts: Sequence[Fact], tokens: int, *, known: int = 0) -> tuple[Fact, ...]:
    """The most important facts, which are checked in each request, of a text of `tokens` tokens.

    `known` facts come from included summaries, which limited their number already.
    """
    return tuple(facts[: min(max(GATE_FACTS + known, tokens // TOKENS_PER_FACT), MAX_FACTS)])


def counted(draft: Draft) -> Draft:
    """The draft with the facts of its newest checkpoint, and their numbers as the next request has them."""
    *older, newest = draft.checkpoints
    text = request_text(draft.context, draft.kept + draft.tail)
    folded = merged(draft.folded) or ()
    fresh = [CountedFact(one.kind, one.text, False) for one in draft.facts if not folded or one.speaker != SUMMARY]
    facts = _distinct([*folded, *fresh])
    known, kept = {normalised(fact.text) for fact in folded}, _standing(facts, text)
    facts = tuple(
        fact if normalised(fact.text) in known else fact._replace(was_kept=fact.text in kept) for fact in facts
    )
    retention = replace(draft.retention, found=len(facts), kept=len(kept))
    return replace(draft, checkpoints=(*older, replace(newest, facts=facts)), retention=retention)


def facts_in(turns: Iterable[Turn], text: str, *, tokens: int) -> tuple[CountedFact, ...]:
    """The counted facts of turns of `tokens` tokens, where `text` is the next request."""
    found = most_important(find_facts(statement for turn in turns for statement in statements_of(turn)), tokens)
    kept = {fact.text for fact in kept_facts(found, text)}
    return _distinct(CountedFact(fact.kind, fact.text, fact.text in kept) for fact in found)


def kept_now(facts: Iterable[CountedFact], text: str) -> FactsKept:
    """The numbers of distinct facts where `text` is the next request."""
    every = _distinct(facts, limit=None)
    kept = _standing(every, text)
    missing = tuple(fact.text for fact in every if fact.text not in kept)
    return FactsKept(len(every), sum(fact.was_kept for fact in every), len(kept), missing)


def request_text(context: str | None, turns: Iterable[Turn]) -> str:
    """All texts of a request with a compressed context: the summaries, and the messages as they are sent."""
    return "\n".join((context or "", *(text for turn in turns for text in _sent(turn))))


def merged(checkpoints: Iterable[Checkpoint]) -> tuple[CountedFact, ...] | None:
    """The facts of neighbouring checkpoints; None if those of one are not known."""
    every = [checkpoint.facts for checkpoint in checkpoints]
    return None if None in every else _distinct(fact for facts in every for fact in facts or ())


def _distinct(facts: Iterable[CountedFact], *, limit: int | None = MAX_FACTS) -> tuple[CountedFact, ...]:
    """The facts, each once, the most important ones first; one that was kept anywhere was kept."""
    found: dict[str, CountedFact] = {}
    for fact in facts:
        key = normalised(fact.text)
        other = found.setdefault(key, fact)
        if fact.was_kept and not other.was_kept:
            found[key] = other._replace(was_kept=True)
    return tuple(sorted(found.values(), key=lambda fact: -WEIGHTS.get(fact.kind, 0.0))[:limit])


def _standing(facts: Iterable[CountedFact], text: str) -> set[str]:
    """The texts of the facts that occur in the text."""
    return {fact.text for fact in kept_facts([Fact(one.kind, one.text, 0.0) for one in facts], text)}


def _sent(turn: Turn) -> Iterable[str]:
    if not (turn.elided and turn.role == "tool"):
        yield turn.captioned
    for use in turn.tools:
        yield plain_arguments(use.arguments)
        yield "" if turn.elided else use.result or ""
