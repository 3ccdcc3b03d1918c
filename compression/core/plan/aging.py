"""Makes older summaries shorter where all of them need more room than there is; no model is asked.

Nothing is shortened while there is room. A summary that must give way is made anew from its messages, where these can
be read: the headline and the decisions that a model wrote stay, lines of its that the messages support are preferred,
and the rest is selected from the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from compression.core.citations.check import cited, doubted_in, marked_within
from compression.core.citations.marks import without_marks
from compression.core.extractive.summariser import Extractive, extract
from compression.core.facts.fact_counts import merged as merged_facts
from compression.core.facts.fact_counts import request_text
from compression.core.facts.find import find_facts, normalised, stands, words_in
from compression.core.sections import DECISIONS, KEPT_FACTS, SUMMARY
from compression.core.tokens import TokenCounter
from compression.core.truncation import Truncation, merge_notes
from compression.core.values import Checkpoint, Turn

OLDEST_AGE = 2
SELECTING = (Extractive.name, Truncation.name)
"""Summarisers whose sentences are the messages' own: nothing is lost if they are selected again."""
LEAST_TOKENS, LEAST_SHARE = 60, 1 / 8
"""The least tokens of a summary, and the least share of the room of all: below it, neighbours are merged. One long
summary keeps more of what two runs say than two short ones, whose headings and headlines take their room."""
MIN_SUMMARY_TOKENS = 8
"""A few words: the least of the only summary, in a window that has no room for LEAST_TOKENS."""
MAX_STANDING = 1.5
"""The headline and decisions that a model wrote stay up to this many times the fair length of their summary."""
YIELD = 0.7
"""A summary that gives way comes down to this share of its fair length: it does not give way at each compaction."""
MERGED_SHARE = 0.3
"""The share of their first lengths that summaries take which are merged into a single one in an emergency."""
MAX_REREAD_TOKENS = 200_000
"""Tokens of messages that one compaction reads again to make older summaries anew."""
SEPARATOR_TOKENS = 2
"""The most tokens that the blank line between two summaries takes."""

_SECTION = re.compile(r"^## .*$", re.MULTILINE)
_OPEN = re.compile(r"\s*[-*]\s*(?:Pending|Blocked|Next):", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shortening:
    """A summary that gives way: the neighbours it is made of (one or more), and its `limit` in tokens.

    `rereads`: it is made anew from their messages. Otherwise it is selected from their own sentences.
    """

    checkpoints: tuple[Checkpoint, ...]
    limit: int
    rereads: bool = False


Planned = Checkpoint | Shortening


def cost(checkpoints: Sequence[Checkpoint]) -> int:
    """Tokens that the checkpoints take in the context, separators included."""
    return sum(checkpoint.tokens + SEPARATOR_TOKENS for checkpoint in checkpoints)


def total_original_tokens(checkpoints: Sequence[Checkpoint]) -> int:
    """Tokens of the messages that the checkpoints cover."""
    return sum(checkpoint.original_tokens for checkpoint in checkpoints)


def least_cost(checkpoints: Sequence[Checkpoint]) -> int:
    """The tokens that the checkpoints can be brought down to without being merged, separators included."""
    return sum(min(checkpoint.tokens, LEAST_TOKENS) + SEPARATOR_TOKENS for checkpoint in checkpoints)


def planned(checkpoints: Sequence[Checkpoint], room: int, *, count: TokenCounter) -> tuple[Planned, ...]:
    """The checkpoints that stay, and the shortenings of the others, so that all take at most `room` tokens.

    The fair length of each is in proportion to the tokens of its messages; those that exceed theirs the most give way
    first. Neighbours are merged, the smallest first, if the least length of each would not fit.
    """
    if cost(checkpoints) <= room:
        return tuple(checkpoints)
    runs = _merged_runs(checkpoints, room)
    whole = sum(map(total_original_tokens, runs)) or 1
    space = room - SEPARATOR_TOKENS * len(runs)
    least = min(_least(room), space // len(runs))
    fair = [max(space * total_original_tokens(run) / whole, least) for run in runs]
    floors = [
        max(min(_standing_tokens(run, count), MAX_STANDING * own), least) for run, own in zip(runs, fair, strict=True)
    ]
    lengths = [_tokens(run) for run in runs]
    limits: dict[int, int] = {}
    yielding = sorted(range(len(runs)), key=lambda index: -lengths[index] / fair[index])
    # What stands and what has a fair length give way only where nothing else can.
    for share, floor in ((YIELD, floors), (0.0, floors), (0.0, [least] * len(runs))):
        for index in yielding:
            over = sum(lengths) - space
            limit = max(int(share * fair[index]), int(floor[index]), MIN_SUMMARY_TOKENS)
            if over > 0 and limit < lengths[index]:
                lengths[index] = limits[index] = limit if share else max(limit, lengths[index] - over)
    return _with_rereading(runs, limits)


def shortened(
    shortening: Shortening, turns: Sequence[Turn], *, count: TokenCounter, taken_back: Sequence[str] = ()
) -> Checkpoint:
    """The checkpoint that stands for those of `shortening`; `turns` are their messages, () where they are not read.

    Sentences that were `taken_back` are left out.
    """
    merged = _merged(shortening.checkpoints)
    summary = without_marks(merged.summary)
    stays = summary if not turns else "" if merged.author in SELECTING else _written(summary, turns)
    facts = merged.facts or ()

    def selected(limit: int) -> str:
        text = extract(
            turns,
            earlier=stays,
            max_tokens=limit,
            count=count,
            sparse=True,
            covers=bool(turns),
            facts=facts,
            taken_back=taken_back,
        )
        return text or _beginning(summary, limit, count)

    unfound = doubted_in(shortening.checkpoints)
    marked = unfound if summary != merged.summary else frozenset[str]()
    limit = max(shortening.limit, MIN_SUMMARY_TOKENS)
    text = marked_within(selected, limit, unfound=marked, count=count)
    return replace(
        merged,
        number=0,
        summary=text,
        tokens=count(text),
        age=min(merged.age + 1, OLDEST_AGE),
        citations=cited(text, turns, earlier=shortening.checkpoints, unfound=unfound),
    )


def merged_into_one(checkpoints: Sequence[Checkpoint], *, count: TokenCounter) -> Checkpoint:
    """A single checkpoint for all, selected from their own sentences, at MERGED_SHARE of their first lengths."""
    limit = int(MERGED_SHARE * sum(checkpoint.birth_tokens for checkpoint in checkpoints))
    one = shortened(Shortening(tuple(checkpoints), limit), (), count=count)
    # The messages of several begin with the conversation: none can come before them.
    return replace(one, age=OLDEST_AGE, stragglers=() if len(checkpoints) > 1 else one.stragglers)


def _least(room: int) -> int:
    """The least tokens of a summary where all together have `room`."""
    return max(LEAST_TOKENS, int(LEAST_SHARE * room))


def _merged_runs(checkpoints: Sequence[Checkpoint], room: int) -> list[tuple[Checkpoint, ...]]:
    """The checkpoints, each alone or merged with neighbours until the least length of each fits the room."""
    runs: list[tuple[Checkpoint, ...]] = [(checkpoint,) for checkpoint in checkpoints]
    while len(runs) > 1 and len(runs) * (_least(room) + SEPARATOR_TOKENS) > room:
        sizes = [total_original_tokens(first) + total_original_tokens(second) for first, second in pairwise(runs)]
        at = sizes.index(min(sizes))
        runs[at : at + 2] = [(*runs[at], *runs[at + 1])]
    return runs


def _with_rereading(runs: Sequence[tuple[Checkpoint, ...]], limits: dict[int, int]) -> tuple[Planned, ...]:
    """The plan; a summary is made anew from its messages if all that are read again are within MAX_REREAD_TOKENS.

    A provisional note is no selection, and stays one.
    """
    plan: list[Planned] = []
    left = MAX_REREAD_TOKENS
    for index, run in enumerate(runs):
        if index not in limits and len(run) == 1:
            plan.append(run[0])
            continue
        size = total_original_tokens(run)
        rereads = size <= left and not any(checkpoint.provisional for checkpoint in run)
        left -= size if rereads else 0
        plan.append(Shortening(run, limits.get(index, _tokens(run)), rereads))
    return tuple(plan)


def _standing_tokens(run: Sequence[Checkpoint], count: TokenCounter) -> int:
    """Tokens of the headlines and decisions of neighbours that were not selected from messages."""
    return sum(count(_standing(one.summary)) + SEPARATOR_TOKENS for one in run if one.author not in SELECTING)


def _tokens(run: Sequence[Checkpoint]) -> int:
    return cost(run) - SEPARATOR_TOKENS


def _merged(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """The checkpoint of all the messages that neighbours cover; its summary is theirs, one after the other."""
    first, last = checkpoints[0], checkpoints[-1]
    if first is last:
        return first
    return replace(
        last,
        level=min(checkpoint.level for checkpoint in checkpoints),
        summary=merge_notes("\n\n".join(checkpoint.summary for checkpoint in checkpoints)),
        birth_tokens=sum(checkpoint.birth_tokens for checkpoint in checkpoints),
        original_tokens=total_original_tokens(checkpoints),
        first_id=first.first_id,
        age=OLDEST_AGE,
        provisional=any(checkpoint.provisional for checkpoint in checkpoints),
        stragglers=tuple(id for checkpoint in checkpoints for id in checkpoint.stragglers),
        facts=merged_facts(checkpoints),
        author=next((one.author for one in checkpoints if one.author not in SELECTING), first.author),
    )


def _standing(summary: str) -> str:
    """The headline and the decisions of a summary that a model wrote."""
    return "\n\n".join(part for heading, part in _sections(summary) if heading in (SUMMARY, DECISIONS))


def _sections(summary: str) -> Iterator[tuple[str, str]]:
    """(heading, the section with it) of each section of a summary."""
    places = [*_SECTION.finditer(summary)]
    ends = [place.start() for place in places[1:]] + [len(summary)]
    for place, end in zip(places, ends, strict=True):
        part = summary[place.start() : end].strip()
        yield part.splitlines()[0].strip(), part


def _written(summary: str, turns: Sequence[Turn]) -> str:
    """The part of a model's summary that stays: its headline, its decisions, and lines that these turns support.

    Facts that were put back into it are found in the turns again, and what was open then may be done by now.
    """
    said = normalised(request_text(None, turns))
    words = words_in(said)

    def is_supported(line: str) -> bool:
        hard = (fact for fact in find_facts([line]) if fact.kind != "name")  # a label such as "Done" looks like one
        return all(stands(normalised(fact.text), said, words) for fact in hard)

    kept: list[str] = []
    for heading, part in _sections(summary):
        if heading in (SUMMARY, DECISIONS):
            kept.append(part)
        elif heading != KEPT_FACTS:
            title, *lines = part.splitlines()
            kept += [title, *(line for line in lines if not _OPEN.match(line) and is_supported(line))]
    return "\n".join(kept)


def _beginning(summary: str, limit: int, count: TokenCounter) -> str:
    """The first words below the headings, for a limit that no whole sentence fits."""
    words = " ".join(line for line in summary.splitlines() if not line.startswith("#")).split()[:limit]
    while words and count(f"{' '.join(words)} …") > limit:
        words.pop()
    return f"{' '.join(words)} …".strip()
