"""The summary of the longest known beginning of a caller's history, and the request with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings

from compression.core.recall.recall import Recalled
from compression.core.request_usage import usage
from compression.core.values import Turn, Usage, Window
from compression.models import Checkpoint, Snapshot
from conversations.compaction.snapshots import Superseded
from conversations.context.elisions import Elision, elision, of_callers
from conversations.context.transcript import HISTORY
from conversations.gateway.history import History
from conversations.gateway.messages import Raw, text_of
from conversations.gateway.summaries import StoredSummary, covering, current
from conversations.models import Conversation, Message
from conversations.runtime.bounded_cache import BoundedCache

_hints: BoundedCache[tuple[int, str], UUID] = BoundedCache(10_000)
"""The conversation that was found for a person and a digest, remembered by this process."""


@dataclass(frozen=True, slots=True)
class State:
    """A summary of the first `place` lines of a history, except the `kept` ones, which are sent too.

    It is the current summary of a stored conversation, or an earlier one, which the gateway continues in a copy
    (`is_current` false). Lines that are `elided` are sent without their tools' results, or with excerpts of them, at
    their reduced tokens. The `recalled` passages of the compacted lines are quoted before the lines whose numbers they
    name. If leaving out results alone made room, there is no summary: `digest` and `context` are "", and `place` is 0.
    """

    conversation_id: UUID
    digest: str
    context: str
    tokens: int
    cut: datetime
    place: int
    is_current: bool = True
    kept: tuple[int, ...] = ()
    elided: Mapping[int, Elision] = field(default_factory=dict)
    verbatim_ids: tuple[str, ...] = ()
    recalled: tuple[Recalled, ...] = ()

    @property
    def is_summary(self) -> bool:
        return bool(self.digest)

    @property
    def recalled_tokens(self) -> int:
        return sum(one.tokens for one in self.recalled)

    def sent(self, history: History) -> list[int]:
        """The numbers of the lines that are sent."""
        return [*self.kept, *range(self.place, len(history.lines))]

    def turns(self, history: History) -> list[Turn]:
        """The turns that are sent, each with its tokens as sent."""
        turns = [(number, history.lines[number].turn) for number in self.sent(history)]
        return [
            replace(turn, tokens=self.elided[number].tokens) if number in self.elided else turn
            for number, turn in turns
        ]


def find_checkpoint(owner_id: int, history: History) -> State | None:
    """The state that covers most of the history; None if none of it was ever compacted."""
    places = history.places
    for stored in covering(owner_id, list(places)):
        if found := _stored(stored, places[stored.digest]):
            _hints.put((owner_id, stored.digest), found.conversation_id)
            return found
    return None


def known(owner_id: int, history: History) -> State | None:
    """A state that this process found lately, if it still holds; another one may cover more by now."""
    for place in range(len(history.lines), 0, -1):
        digest = history.lines[place - 1].digest
        if id := _hints.get((owner_id, digest)):
            stored = current(owner_id, id, digest)
            return _stored(stored, place) if stored else None
    return None


def present(conversation_id: UUID, history: History) -> State | None:
    """The present state of the history's own conversation; None if nothing of it is compacted or left out.

    Raises Superseded if another caller has gone on with the conversation, so that it holds another history.
    """
    last = _last_checkpoint(conversation_id)
    row = last.conversation if last else Conversation.objects.filter(pk=conversation_id).first()
    if row is None:
        raise Superseded
    if last is None or row.compressed_at is None:
        elided = _numbered(row, row.elided)
        return State(row.pk, "", "", 0, row.created_at, 0, elided=elided) if elided else None
    if last.digest not in history.places:
        raise Superseded
    return _state(row, row, last.digest, history.places[last.digest], elided=row.elided)


def holds(conversation_id: UUID, digest: str) -> bool:
    """Whether the conversation's summary ends at this digest now."""
    last = _last_checkpoint(conversation_id)
    return last is not None and last.digest == digest


def measured(history: History, state: State | None, window: Window) -> Usage:
    """The usage of a request with this summary, as the model counts it."""
    if state is None:
        return usage(system=history.fixed_tokens, summary=0, turns=[line.turn for line in history.lines], window=window)
    return usage(
        system=history.fixed_tokens,
        summary=state.tokens,
        turns=state.turns(history),
        window=window,
        recalled=state.recalled_tokens,
    )


def assemble(history: History, state: State) -> list[Raw]:
    """The request's messages: the caller's own, unchanged, with the summary in place of the older ones, and the
    recalled passages before the question.
    """
    sent: list[Raw] = list(history.lead)
    if state.is_summary:
        sent.append({"role": settings.COMPRESSION_SUMMARY_ROLE, "content": state.context})
    recalled = {one.before: one.message for one in state.recalled}
    for number in state.sent(history):
        raw = history.lines[number].raw
        if str(number) in recalled:
            sent.append(recalled[str(number)])
        sent.extend(_without_results(raw, state.elided[number].excerpt) if number in state.elided else raw)
    return sent


def _without_results(raw: tuple[Raw, ...], excerpt: int) -> Iterator[Raw]:
    for message in raw:
        is_result = message["role"] in ("tool", "function")
        yield message | {"content": of_callers(text_of(message), excerpt)} if is_result else message


def _last_checkpoint(conversation_id: UUID) -> Checkpoint | None:
    """The conversation's last active checkpoint, with the conversation; None if it has none."""
    active = Checkpoint.objects.filter(conversation=conversation_id, active=True).select_related("conversation")
    return active.order_by("-last_message_at", "-number").first()


def _stored(stored: StoredSummary, place: int) -> State | None:
    return _state(stored.conversation, stored.state, stored.digest, place, is_current=stored.is_current)


def _state(
    row: Conversation,
    of: Conversation | Snapshot,
    digest: str,
    place: int,
    *,
    elided: Mapping[str, int | list[int]] | None = None,
    is_current: bool = True,
) -> State | None:
    """The state, or None if a message that must be sent beside the summary is gone."""
    assert of.compressed_at is not None and of.compressed_context is not None
    kept = _numbered(row, dict.fromkeys(of.verbatim_ids, 0))
    if len(kept) < len(of.verbatim_ids):
        return None
    return State(
        row.pk,
        digest,
        of.compressed_context,
        of.compressed_tokens,
        of.compressed_at,
        place,
        is_current,
        tuple(sorted(kept)),
        _numbered(row, elided or {}),
        tuple(of.verbatim_ids),
    )


def _numbered(row: Conversation, chosen: Mapping[str, int | list[int]]) -> dict[int, Elision]:
    """The elisions by the numbers of lines, not by the ids of messages; those of deleted messages are left out."""
    if not chosen:
        return {}
    ids = Message.objects.filter(HISTORY, conversation=row).order_by("created_at").values_list("pk", flat=True)
    return {number: elision(chosen[str(id)]) for number, id in enumerate(ids) if str(id) in chosen}
