"""When a request does not fit even though it was compressed: summaries shrink to one, results of tools are left out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from compression.core.aging import OLDEST, aged, cost, fitted
from compression.core.measure import usage_of
from compression.core.tokens import TokenCounter
from compression.core.values import Checkpoint, Transcript, Turn
from compression.core.window import groups


def merge(checkpoints: Sequence[Checkpoint], *, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """All summaries as a single one of the last age, which stands for what they stood for; () of none.

    It takes at most the last age's share of what they took at birth, though a few words. Never raises.
    """
    oldest = [_oldest(checkpoint, count) for checkpoint in checkpoints]
    return (reduce(partial(_both, count=count), oldest),) if oldest else ()


def left_out(transcript: Transcript, costs: Mapping[str, int]) -> dict[str, int]:
    """Those of `costs` that must be paid instead for the request to fit; all of them where not even that is enough.

    `costs` says, by id, what turns cost without the results of their tools. The biggest results go first, then those
    of protected turns; last of all those of the last group, which is being answered.
    """
    order = _order(transcript.turns, costs)

    def fits(number: int) -> bool:
        return not usage_of(_without(transcript, {id: costs[id] for id in order[:number]})).over_budget

    number = bisect_left(range(len(order)), True, key=fits)
    return {id: costs[id] for id in order[:number]}


def _oldest(checkpoint: Checkpoint, count: TokenCounter) -> Checkpoint:
    """At the last age at once: it is selected from only once."""
    return checkpoint if checkpoint.age == OLDEST else aged(replace(checkpoint, age=OLDEST - 1), count=count)


def _both(first: Checkpoint, second: Checkpoint, *, count: TokenCounter) -> Checkpoint:
    """The two as one: what they become where they have a little less room than they take."""
    pair = first, second
    return fitted(pair, cost(pair) - 1, count=count)[0]


def _order(turns: Sequence[Turn], costs: Mapping[str, int]) -> list[str]:
    answered = {turn.id for group in groups(turns)[-1:] for turn in group}
    chosen = [turn for turn in turns if turn.id in costs]
    chosen.sort(key=lambda turn: (turn.id in answered, turn.protected, costs[turn.id] - turn.tokens))
    return [turn.id for turn in chosen]


def _without(transcript: Transcript, costs: Mapping[str, int]) -> Transcript:
    turns = (replace(turn, tokens=costs[turn.id]) if turn.id in costs else turn for turn in transcript.turns)
    return replace(transcript, turns=tuple(turns))
