"""What is known of a history: the summary that stands for its longest beginning, found by digest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any
from uuid import UUID

from django.conf import settings

from compression.core.measure import usage
from compression.core.values import Usage, Window
from compression.models import Checkpoint, Snapshot
from conversations import states
from conversations.gateway.history import History, Raw
from conversations.gateway.remembered import Remembered
from conversations.models import Conversation, Message
from conversations.transcript import ELIDED, HISTORY

ASKED_AT_ONCE = 500

_hints: Remembered[tuple[int, str], UUID] = Remembered(10_000)
"""Which conversation was found for a person and a digest."""


@dataclass(frozen=True, slots=True)
class State:
    """A summary that stands for the first `place` lines of a history, but for those `kept`, which are sent too.

    It is the present one of its conversation, or one from before a later compaction (`is_current` false). Lines that
    are `elided` are sent without their tools' results.
    """

    conversation_id: UUID
    digest: str
    context: str
    tokens: int
    cut: datetime
    place: int
    is_current: bool = True
    kept: tuple[int, ...] = ()
    elided: frozenset[int] = frozenset()


def find(owner_id: int, history: History) -> State | None:
    """The one that covers most of the history; None where nothing of it was ever compressed."""
    places = history.places
    for digest, ids in _covering(owner_id, list(places)):
        if found := _current(ids, digest, places[digest]) or _earlier(ids, digest, places[digest]):
            _hints.put((owner_id, digest), found.conversation_id)
            return found
    return None


def recall(owner_id: int, history: History) -> State | None:
    """One that this process has found lately, if it still holds; another may cover more by now."""
    for place in range(len(history.lines), 0, -1):
        digest = history.lines[place - 1].digest
        if id := _hints.get((owner_id, digest)):
            return _current({id}, digest, place)
    return None


def present(conversation_id: UUID, history: History) -> State | None:
    """The state that the history's own conversation has now, with what was left out to make room."""
    last = _last_checkpoint(conversation_id)
    if last is None or last.conversation.compressed_at is None:
        return None
    row = last.conversation
    return _state(row, row, last.digest, history.places[last.digest], elided=row.elided)


def holds(conversation_id: UUID, digest: str) -> bool:
    """Whether the conversation's summary ends there now."""
    last = _last_checkpoint(conversation_id)
    return last is not None and last.digest == digest


def measured(history: History, state: State | None, window: Window) -> Usage:
    """What a request with this summary costs, as the model counts it."""
    turns = [line.turn for line in history.lines]
    if state is None:
        return usage(system=history.fixed_tokens, summary=0, turns=turns, window=window)
    sent = [turns[number] for number in state.kept] + turns[state.place :]
    return usage(system=history.fixed_tokens, summary=state.tokens, turns=sent, window=window)


def assemble(history: History, state: State) -> list[Raw]:
    """The request's messages: the caller's own, untouched, but for what the summary stands for."""
    summary = {"role": settings.COMPRESSION_SUMMARY_ROLE, "content": state.context}
    chosen = [*state.kept, *range(state.place, len(history.lines))]
    sent: list[Raw] = [*history.lead, summary]
    for number in chosen:
        raw = history.lines[number].raw
        sent.extend(_without_results(raw) if number in state.elided else raw)
    return sent


def _without_results(raw: tuple[Raw, ...]) -> Iterator[Raw]:
    for message in raw:
        yield message | {"content": ELIDED} if message["role"] in ("tool", "function") else message


def _covering(owner_id: int, digests: list[str]) -> Iterator[tuple[str, set[UUID]]]:
    """Digests that end a checkpoint of this person's, the longest first, each with its conversations."""
    rows = Checkpoint.objects.filter(conversation__owner_id=owner_id, conversation__kind=Conversation.Kind.GATEWAY)
    for chunk in batched(reversed(digests), ASKED_AT_ONCE):
        found: dict[str, set[UUID]] = {}
        for digest, id in rows.filter(digest__in=chunk).values_list("digest", "conversation_id"):
            found.setdefault(digest, set()).add(id)
        yield from ((digest, found[digest]) for digest in chunk if digest in found)


def _current(ids: set[UUID], digest: str, place: int) -> State | None:
    """Of a conversation whose summary ends there now."""
    for id in sorted(ids):
        last = _last_checkpoint(id)
        if last is not None and last.digest == digest and last.conversation.compressed_at is not None:
            return _state(last.conversation, last.conversation, digest, place)
    return None


def _last_checkpoint(conversation_id: UUID) -> Checkpoint | None:
    """With its conversation."""
    active = Checkpoint.objects.filter(conversation=conversation_id, active=True).select_related("conversation")
    return active.order_by("-last_message_at", "-number").first()


def _earlier(ids: set[UUID], digest: str, place: int) -> State | None:
    """Of a conversation that has gone on from there, and whose later compactions are all in effect."""
    for id in sorted(ids):
        snapshot = states.in_effect(id).filter(digest=digest).exclude(compressed_at=None).first()
        if snapshot is not None:
            return _state(Conversation.objects.get(pk=id), snapshot, digest, place, is_current=False)
    return None


def _state(
    row: Conversation,
    of: Conversation | Snapshot,
    digest: str,
    place: int,
    *,
    elided: Any = (),
    is_current: bool = True,
) -> State:
    assert of.compressed_at is not None and of.compressed_context is not None
    numbers = _numbers(row.pk, [*of.verbatim_ids, *elided])
    return State(
        row.pk,
        digest,
        of.compressed_context,
        of.compressed_tokens,
        of.compressed_at,
        place,
        is_current,
        tuple(sorted(numbers[id] for id in of.verbatim_ids if id in numbers)),
        frozenset(numbers[id] for id in elided if id in numbers),
    )


def _numbers(conversation_id: UUID, ids: list[str]) -> dict[str, int]:
    """Which line of the history each of these messages is."""
    if not ids:
        return {}
    rows = Message.objects.filter(HISTORY, conversation_id=conversation_id).order_by("created_at")
    wanted = set(ids)
    return {str(pk): number for number, pk in enumerate(rows.values_list("pk", flat=True)) if str(pk) in wanted}
