"""Recall for a caller's history: quotes passages of the lines that a summary stands for before the person's questions.

A provider caches a request's beginning, so passages keep their words and their place: those of a question stay before
it while the model calls tools, and after the next question too, until the next compaction or until they take more than
EARLIER_SHARE of recall's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.core.cache import cache

from compression.core.values import Turn
from conversations.gateway.checkpoints import State
from conversations.gateway.request import GatewayRequest
from conversations.memory import recall
from conversations.memory.recall import Past, Room

EARLIER_SHARE = 1 / 2
"""The share of recall's budget that passages of earlier questions may take, so that the rest is the latest one's."""
MAX_QUESTIONS = 20
"""The most questions, from the latest on, among which earlier passages are looked for."""
KEPT_SECONDS = 24 * 60 * 60
"""The time for which the references of passages are cached; afterwards they are looked up anew."""


def with_passages(asked: GatewayRequest, state: State) -> State:
    """The state with the passages that bear on the person's questions; without, if none does or has room.

    They are sought in the stored messages of the state's conversation, which are the caller's own lines.
    """
    history, window = asked.history, asked.window
    past = Past(state.conversation_id, state.cut, state.verbatim_ids)
    numbers = state.sent(history)
    sent = [_as_asked(turn, number) for number, turn in zip(numbers, state.turns(history), strict=True)]
    live = sent[len(state.kept) :]
    if not _questions(live):
        return state
    room = int((window.budget - asked.usage(state).total - 1) / window.correction)
    kept = set(state.kept)
    covered = sum(line.turn.tokens for at, line in enumerate(history.lines[: state.place]) if at not in kept)
    budget = min(asked.policy.recall_budget(window, covered=covered, summaries=state.tokens), room)
    place = f"recalled:{state.conversation_id}:{state.digest}"
    questions = [f"{place}:{history.lines[int(turn.id)].digest}" for turn in _questions(live)]
    own, known = questions[0], cache.get_many(questions)
    notes: list[dict[str, Any]] = next((known[key] for key in questions if key in known), [])
    recalled = recall.all_put_together(state.conversation_id, notes)
    taken = sum(one.tokens for one in recalled)
    is_gone = bool(notes) and not recalled  # a quoted message was deleted
    if own in known and taken <= room and not is_gone:
        return replace(state, recalled=recalled)
    if taken > EARLIER_SHARE * budget or own in known:
        recalled, taken = (), 0
    quoted = [quote for one in recalled for quote in one.quotes]
    if found := recall.found_in(past, live, room=Room(budget - taken, budget - taken), quoted=quoted):
        recalled = (*recalled, found)
    cache.set(own, [recall.noted(one) for one in recalled], KEPT_SECONDS)
    return replace(state, recalled=recalled)


def _questions(live: Sequence[Turn]) -> list[Turn]:
    """The turns with words that the person typed, the latest first."""
    return [turn for turn in reversed(live) if turn.role == "user" and turn.content.strip()][:MAX_QUESTIONS]


def _as_asked(turn: Turn, number: int) -> Turn:
    """The turn with its number as its id, and with what its person typed alone: a client's reminder asks nothing."""
    return (
        replace(turn, id=str(number), content=turn.typed, quoted=()) if turn.quoted else replace(turn, id=str(number))
    )
