"""Recall for a caller's history: quotes passages of the lines that a summary stands for before its latest question."""

from __future__ import annotations

from dataclasses import replace

from compression.core.values import Turn
from conversations.context import recall
from conversations.context.recall import Past
from conversations.gateway.checkpoints import State
from conversations.gateway.request import GatewayRequest


def with_passages(asked: GatewayRequest, state: State) -> State:
    """The state with the passages that bear on the history's latest question; without, if none does or has room.

    They are sought in the stored messages of the state's conversation, which are the caller's own lines.
    """
    window = asked.window
    room = int((window.budget - asked.usage(state).total - 1) / window.correction)
    past = Past(state.conversation_id, state.cut, state.verbatim_ids)
    numbers = state.sent(asked.history)
    sent = [_as_asked(turn, number) for number, turn in zip(numbers, state.turns(asked.history), strict=True)]
    kept = set(state.kept)
    covered = sum(line.turn.tokens for at, line in enumerate(asked.history.lines[: state.place]) if at not in kept)
    budget = asked.policy.recall_budget(window, covered=covered, summaries=state.tokens)
    found = recall.found_in(past, sent[len(state.kept) :], budget=min(budget, room))
    return replace(state, recalled=found)


def _as_asked(turn: Turn, number: int) -> Turn:
    """The turn with its number as its id, and with what its person typed alone: a client's reminder asks nothing."""
    return (
        replace(turn, id=str(number), content=turn.typed, quoted=()) if turn.quoted else replace(turn, id=str(number))
    )
