"""Recall for a caller's history: quotes passages before the person's questions, as a record.

The passages are from the summarised lines, and from the conversations of the call's project.

A provider caches a request's beginning, so passages keep their words and their place: those of a question stay before
it while the model calls tools, and after the next question too, until the next compaction or until they take more than
EARLIER_SHARE of recall's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import Q

from compression.core.recall.recall import Recalled
from compression.core.values import Turn
from compression.history import BEGINNING
from conversations.gateway.checkpoints import State
from conversations.gateway.request import GatewayRequest
from conversations.memory import recall
from conversations.memory.recall import Past, Room
from conversations.models import Project

EARLIER_SHARE = 1 / 2
"""The share of recall's budget that passages of earlier questions may take, so that the rest is the latest one's."""
MAX_QUESTIONS = 20
"""The most questions, from the latest on, among which earlier passages are looked for."""
KEPT_SECONDS = 24 * 60 * 60
"""The time for which the references of passages are cached; afterwards they are looked up again."""
NOTHING = State(UUID(int=0), "", "", 0, BEGINNING, 0)
"""The state of a history that is not compacted: all of it is sent."""


def with_passages(asked: GatewayRequest, state: State | None, owner_id: int) -> State | None:
    """The state with the passages that match the person's questions, as far as there is room.

    The search covers the stored messages of the state's conversation, which are the caller's own lines, and the
    conversations of the call's project. A history without a compaction has only passages of the project.
    """
    project = asked.project if asked.project and asked.project.recalls else None
    if project is None and not (state and state.is_summary):
        return state
    recalled = _recalled(asked, state or NOTHING, project, owner_id)
    return replace(state or NOTHING, recalled=recalled) if recalled else state


def _recalled(asked: GatewayRequest, state: State, project: Project | None, owner_id: int) -> tuple[Recalled, ...]:
    """The passages of earlier questions that stay, and those of the latest one."""
    history = asked.history
    numbers = state.sent(history)
    sent = [_as_asked(turn, number) for number, turn in zip(numbers, state.turns(history), strict=True)]
    live = sent[len(state.kept) :]
    if not _questions(live):
        return ()
    free, room = _rooms(asked, state, project)
    place = f"recalled:{project.pk if project else ''}:{state.conversation_id}:{state.digest}"
    questions = [f"{place}:{history.lines[int(turn.id)].digest}" for turn in _questions(live)]
    own, known = questions[0], cache.get_many(questions)
    notes: list[dict[str, Any]] = next((known[key] for key in questions if key in known), [])
    recalled = recall.all_put_together(state.conversation_id, notes, _elsewhere(project, owner_id))
    taken = sum(one.tokens for one in recalled)
    is_gone = bool(notes) and not recalled  # a quoted message was deleted
    if own in known and taken <= free and not is_gone:
        return recalled
    if taken > EARLIER_SHARE * room.total or own in known:
        recalled, taken = (), 0
    past = Past(
        state.conversation_id,
        state.cut if state.is_summary else None,
        state.verbatim_ids,
        project.pk if project else None,
        owner_id,
    )
    quoted = [quote for one in recalled for quote in one.quotes]
    left = Room(room.total - taken, max(0, min(room.own, room.total - taken)))
    if found := recall.found_in(past, live, room=left, quoted=quoted):
        recalled = (*recalled, found)
    cache.set(own, [recall.noted(one) for one in recalled], KEPT_SECONDS)
    return recalled


def _rooms(asked: GatewayRequest, state: State, project: Project | None) -> tuple[int, Room]:
    """(the tokens that are free in the window, the room for passages of all questions)."""
    history, window, used = asked.history, asked.window, asked.usage(state).total
    free = int((window.budget - used - 1) / window.correction)
    kept = set(state.kept)
    covered = sum(line.turn.tokens for at, line in enumerate(history.lines[: state.place]) if at not in kept)
    own = 0
    if state.is_summary:
        own = min(asked.policy.recall_budget(window, covered=covered, summaries=state.tokens), free)
    return free, recall.room_beside(asked.policy, window, used, own=own) if project else Room(own, own)


def _elsewhere(project: Project | None, owner_id: int) -> Q:
    """The messages of the project's conversations that may be quoted now."""
    whose = Q() if settings.SHARED_PROJECTS else Q(owner=owner_id)
    return recall.shared_in(Q(project=project) & whose) if project else Q(pk=None)


def _questions(live: Sequence[Turn]) -> list[Turn]:
    """The turns with words that the person typed, the latest first."""
    return [turn for turn in reversed(live) if turn.role == "user" and turn.content.strip()][:MAX_QUESTIONS]


def _as_asked(turn: Turn, number: int) -> Turn:
    """The turn with its number as its id, and with only the person's own words: a client's reminder asks nothing."""
    return (
        replace(turn, id=str(number), content=turn.typed, quoted=()) if turn.quoted else replace(turn, id=str(number))
    )
