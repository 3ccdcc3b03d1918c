"""Checks a summary's statements against the messages that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from compression.core.citation_values import Citations
from compression.core.citations.claims import Claim, claims_in
from compression.core.citations.hard_facts import hard_facts, kinds_in
from compression.core.citations.marks import with_marks, without_marks, without_statements
from compression.core.citations.source_matching import sources_of
from compression.core.citations.source_texts import SourceTexts
from compression.core.text.statements import speaker_of
from compression.core.text.tool_arguments import plain_arguments
from compression.core.tokens import TokenCounter
from compression.core.truncation import is_note
from compression.core.values import Checkpoint, Turn

MAX_TRIES = 3
"""The most times that a summary is shortened to make room for its marks."""


def unfound_in(
    summary: str,
    turns: Sequence[Turn],
    *,
    beside: Iterable[str] = (),
    doubted: frozenset[str] = frozenset(),
    is_steered: bool = False,
) -> frozenset[str]:
    """The names, numbers, dates, identifiers and quotations of a summary that none of the turns has.

    What is in a text `beside` them (an earlier summary, a goal) is not among them, unless it is `doubted`: an earlier
    summary had it already, and no message. `is_steered`: the summary may be in another language. Linear time.
    """
    claims = [claim for claim in claims_in(without_marks(summary)) if _is_judged(claim)]
    kinds = kinds_in([claim.text for claim in claims], is_steered=is_steered)
    facts = dict.fromkeys(fact for claim in claims for fact in hard_facts(claim.text, kinds=kinds))
    if not facts:
        return frozenset()
    said, other = _texts_of(turns), SourceTexts((without_marks(text), None) for text in beside)
    return frozenset(
        fact.text for fact in facts if not said.has(fact) and (fact.text in doubted or not other.has(fact))
    )


def unsupported(claims: Sequence[Claim], unfound: frozenset[str]) -> dict[int, tuple[str, ...]]:
    """The unsupported statements by their number: each with its texts that are among `unfound`."""
    if not unfound:
        return {}
    missing = {
        number: tuple(dict.fromkeys(fact.text for fact in hard_facts(claim.text) if fact.text in unfound))
        for number, claim in enumerate(claims)
        if _is_judged(claim)
    }
    return {number: texts for number, texts in missing.items() if texts}


def marked(summary: str, unfound: frozenset[str]) -> str:
    """The summary with a mark at each statement that has a text of `unfound`, and no other mark."""
    text = without_marks(summary)
    claims = claims_in(text)
    return with_marks(text, claims, unsupported(claims, unfound))


def without_unsupported(summary: str, unfound: frozenset[str]) -> tuple[str, int]:
    """The summary without the statements that have a text of `unfound`, and the number of those left out."""
    text = without_marks(summary)
    claims = claims_in(text)
    chosen = unsupported(claims, unfound)
    return (without_statements(text, claims, chosen) if chosen else text), len(chosen)


def marked_within(shortened: Callable[[int], str], limit: int, *, unfound: frozenset[str], count: TokenCounter) -> str:
    """The marked text of `shortened`, called with a limit that leaves room for the marks within `limit` tokens.

    Statements are left out if marks would take more than half of the limit.
    """
    text = shortened(limit)
    for _ in range(MAX_TRIES if unfound else 0):
        whole = marked(text, unfound)
        if whole == text or count(whole) <= limit:
            return whole
        text = shortened(max(limit - (count(whole) - count(text)) - 1, limit // 2))
    return without_unsupported(text, unfound)[0]


def cited(
    summary: str,
    turns: Sequence[Turn],
    *,
    earlier: Iterable[Checkpoint] = (),
    unfound: frozenset[str] = frozenset(),
    dropped: int = 0,
) -> Citations:
    """The sources of a summary's statements among the turns.

    A statement of an `earlier` checkpoint that the summary includes counts as its source messages.
    """
    claims = claims_in(without_marks(summary))
    missing = unsupported(claims, unfound)
    sources: list[tuple[str, tuple[str, ...]]] = [(source_text(turn), (turn.id,)) for turn in turns]
    sources += [one for checkpoint in earlier for one in _statements_of(checkpoint)]
    texts = ["" if number in missing else claim.text for number, claim in enumerate(claims)]
    found = sources_of(texts, [text for text, _ in sources])
    ids = [tuple(dict.fromkeys(id for place in places for id in sources[place][1])) for places in found]
    order = {id: place for place, id in enumerate(dict.fromkeys(id for each in ids for id in each))}
    said = sum(bool(claim.text) for claim in claims)
    return Citations(tuple(order), tuple(tuple(order[id] for id in each) for each in ids), missing, said, dropped)


def doubted_in(checkpoints: Iterable[Checkpoint]) -> frozenset[str]:
    """The texts of these checkpoints' statements that stood in no message when they were checked."""
    return frozenset(text for one in checkpoints if one.citations for text in one.citations.unfound)


def source_text(turn: Turn) -> str:
    """The turn's text with its tool calls and results, from which a summary may quote.

    The arguments of a call are there as the model reads them, in JSON, and without its escapes.
    """
    calls = ((use.name, use.arguments, plain_arguments(use.arguments), use.result or "") for use in turn.tools)
    return " ".join((turn.captioned, *(text for call in calls for text in call)))


def _texts_of(turns: Iterable[Turn]) -> SourceTexts:
    texts = ((text, turn.created_at.date()) for turn in turns for text in (source_text(turn), speaker_of(turn)))
    return SourceTexts(texts)


def _statements_of(checkpoint: Checkpoint) -> list[tuple[str, tuple[str, ...]]]:
    """The statements of a checkpoint whose messages are known, with the ids of these."""
    known: Mapping[int, tuple[str, ...]] = {}
    claims = claims_in(without_marks(checkpoint.summary))
    if checkpoint.citations:
        known = {number: checkpoint.citations.ids_of(number) for number in range(len(claims))}
    return [(claims[number].text, ids) for number, ids in known.items() if ids and claims[number].text]


def _is_judged(claim: Claim) -> bool:
    return bool(claim.text) and not claim.is_quoted and not is_note(claim.text)
