"""Makes a compressed request that still does not fit smaller: merges all summaries, omits results of tools."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compression.core.plan.aging import merged_into_one
from compression.core.request_usage import usage_of
from compression.core.tokens import TokenCounter
from compression.core.values import Checkpoint, Group, Transcript, Turn
from compression.core.window import groups


def merge_checkpoints(checkpoints: Sequence[Checkpoint], *, count: TokenCounter) -> tuple[Checkpoint, ...]:
    """A single checkpoint of the last age that covers the messages of all `checkpoints`; () for none.

    Its summary takes at most the last age's share of their first lengths, and at least a few words. Never raises.
    """
    return (merged_into_one(checkpoints, count=count),) if checkpoints else ()


def results_to_omit(transcript: Transcript, costs: Mapping[str, int]) -> dict[str, int]:
    """The turns (id: tokens) whose tool results must be omitted for the request to fit; all if even that is not enough.

    `costs` has the tokens of each turn without its tools' results, by id. The oldest results are omitted first, then
    those of protected turns. Those of the last group, which no model has read yet, go at the very end.
    """
    order = _order(transcript.turns, costs)

    def fits(number: int) -> bool:
        return not usage_of(_without(transcript, {id: costs[id] for id in order[:number]})).over_budget

    number = bisect_left(range(len(order)), True, key=fits)
    return {id: costs[id] for id in order[:number]}


def unread(turns: Sequence[Turn]) -> Group:
    """The last group of turns, whose results no model has read yet; () for no turns."""
    return groups(turns)[-1] if turns else ()


def _order(turns: Sequence[Turn], costs: Mapping[str, int]) -> list[str]:
    last = {turn.id for turn in unread(turns)}
    chosen = [turn for turn in turns if turn.id in costs]
    chosen.sort(key=lambda turn: (turn.id in last, turn.protected))
    return [turn.id for turn in chosen]


def _without(transcript: Transcript, costs: Mapping[str, int]) -> Transcript:
    turns = (replace(turn, tokens=costs[turn.id]) if turn.id in costs else turn for turn in transcript.turns)
    return replace(transcript, turns=tuple(turns))
