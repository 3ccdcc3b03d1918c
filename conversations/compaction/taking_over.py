"""Takes over the summary that another conversation of the same person has of a chat's beginning, in place of a request.

What is taken over is copied, as in a fork: it refers to nothing of the other conversation, and can be undone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction

from compression.core.context import render_context
from compression.core.digest import extend_digest
from compression.core.values import MESSAGE_OVERHEAD, Draft, Steering, Transcript, Turn, total_tokens
from compression.core.values import Checkpoint as CheckpointValue
from compression.models import Checkpoint, Compaction
from compression.records import value_of
from conversations.compaction import commit, lease
from conversations.compaction.shared_states import CHAT, GATEWAY, Asker, SharedState, covering, may_be_shared
from conversations.compaction.snapshots import Superseded
from conversations.context.policy import policy_of
from conversations.context.transcript import HISTORY, Loaded, message_tokens
from conversations.errors import Conflict
from conversations.models import Conversation, Message
from conversations.runtime.lease import LeaseLost

CHANGED = "The conversation changed meanwhile."
SOURCES = {GATEWAY: "a history that a program sent", CHAT: "another chat"}

type Ids = Mapping[str, str]
"""Ids of the source's messages -> ids of the same messages here."""


@dataclass(frozen=True, slots=True)
class Found:
    """A state that can be taken over: as a draft of this conversation, with the checkpoints' rows that it copies."""

    draft: Draft
    rows: tuple[Checkpoint, ...]
    source: Conversation


def is_known(loaded: Loaded) -> bool:
    """Whether a summary of the conversation's beginning may be there already, so that none need be prepared."""
    return _begins_alone(loaded) and may_be_shared(_asker(loaded), _digests(loaded))


def take_over(loaded: Loaded) -> bool:
    """Put in force a summary of the conversation's beginning that is there already; False if there is none.

    Only a chat that was never compacted takes one over: what its person undid does not come back.
    """
    found = _find(loaded) if _begins_alone(loaded) else None
    if found is None:
        return False
    try:
        claimed = lease.claim(loaded.head.id, trigger=Compaction.Trigger.AUTO, steering=Steering())
    except Conflict:
        return False  # another compaction is running; the caller waits for it
    row = lease.start(claimed.pk, claimed.lease_token)
    if row is None:
        return False
    try:
        change, figures = commit.prepare(loaded.head, found.draft), _figures(found)
        with transaction.atomic():
            commit.write(row, change, author=figures["summariser"], **figures)
            _as_copies(row, found)
    except (LeaseLost, Superseded):
        with contextlib.suppress(LeaseLost):
            lease.finish(row, Compaction.Status.DISCARDED, error=CHANGED)
        return False
    return True


def _begins_alone(loaded: Loaded) -> bool:
    """Whether this is a chat without a goal that no compaction was ever in force in."""
    head = loaded.head
    if head.kind != CHAT or head.goal or head.compressed_at or head.elided:
        return False
    return not Compaction.objects.filter(conversation=head.id, status__in=Compaction.IN_FORCE).exists()


def _asker(loaded: Loaded) -> Asker:
    head = loaded.head
    return Asker(head.owner_id, head.kind, head.mode, head.policy)


def _digests(loaded: Loaded) -> list[str]:
    """The running digest at each message that is answered."""
    found, digest = [], ""
    for turn in loaded.turns[: len(loaded.turns) - loaded.waiting]:
        found.append(digest := extend_digest(digest, [turn]))
    return found


def _find(loaded: Loaded) -> Found | None:
    digests = _digests(loaded)
    places = {digest: place for place, digest in enumerate(digests, start=1)}
    for shared in covering(_asker(loaded), digests):
        if shared.conversation.pk != loaded.head.id and (found := _fitted(loaded, shared, places[shared.digest])):
            return found
    return None


def _fitted(loaded: Loaded, shared: SharedState, place: int) -> Found | None:
    """The state as a draft of this conversation; None if it has no room here, or messages of the source are gone."""
    window, turns, rows = loaded.head.window, loaded.turns[:place], _rows(shared)
    ids = _same_messages(shared, turns)
    if window is None or not rows or ids is None:
        return None
    checkpoints = tuple(_renamed(value_of(row), ids, turns) for row in rows)
    context = render_context(checkpoints)
    tokens = message_tokens(context)
    kept = {ids[id] for id in shared.state.verbatim_ids if id in ids} | {turn.id for turn in turns if turn.protected}
    condensed = tuple(turn for turn in turns if turn.id not in kept)
    room = policy_of(loaded.head).context_budget(window) + MESSAGE_OVERHEAD
    if tokens > min(room, total_tokens(condensed)):
        return None
    draft = Draft(
        Transcript(loaded.turns, window),
        condensed=condensed,
        checkpoints=checkpoints,
        context=context,
        context_tokens=tokens,
        cut=turns[-1].created_at,
        verbatim_ids=tuple(turn.id for turn in turns if turn.id in kept),
        level=checkpoints[-1].level,
        summary=checkpoints[-1].summary,
    )
    return Found(draft, rows, shared.conversation)


def _rows(shared: SharedState) -> tuple[Checkpoint, ...]:
    rows = Checkpoint.objects.filter(pk__in=shared.checkpoint_ids, conversation=shared.conversation)
    found = tuple(rows.select_related("compaction").order_by("last_message_at", "number"))
    return found if len(found) == len(shared.checkpoint_ids) else ()  # the source was deleted, or undone, meanwhile


def _same_messages(shared: SharedState, turns: tuple[Turn, ...]) -> Ids | None:
    """The source's messages up to the cut, each with the equal one here; None if the source has changed since."""
    history = Message.objects.filter(HISTORY, conversation=shared.conversation)
    cut = history.filter(created_at__lte=shared.state.compressed_at).order_by("created_at")
    ids = [str(id) for id in cut.values_list("pk", flat=True)]
    return dict(zip(ids, (turn.id for turn in turns), strict=True)) if len(ids) == len(turns) else None


def _renamed(value: CheckpointValue, ids: Ids, turns: tuple[Turn, ...]) -> CheckpointValue:
    """The checkpoint over the equal messages here."""
    last = next(turn for turn in turns if turn.id == ids[value.last_id])
    return replace(
        value,
        number=0,
        first_id=ids[value.first_id],
        last_id=last.id,
        last_at=last.created_at,
        stragglers=tuple(ids[id] for id in value.stragglers if id in ids),
    )


def _figures(found: Found) -> dict[str, Any]:
    """The columns of the compaction: what was taken over cost nothing here, and undoing it forgets its answers."""
    draft, last = found.draft, found.rows[-1]
    facts = [fact for value in draft.checkpoints for fact in value.facts or ()]
    before, after = total_tokens(draft.condensed), draft.context_tokens
    return {
        "summariser": last.model,
        "strategy": last.compaction.strategy,
        "steps": [{"summariser": "", "action": f"taken over from {_name_of(found.source)}, without a request"}],
        "level": draft.level,
        "first_message": UUID(draft.condensed[0].id),
        "last_message": UUID(draft.condensed[-1].id),
        "messages_condensed": len(draft.condensed),
        "pre_tokens": before,
        "post_tokens": after,
        "reduction_percent": round(100 * (1 - after / before), 1),
        "facts_found": len(facts),
        "facts_kept": sum(fact.was_kept for fact in facts),
        "summary_preview": " ".join(draft.summary.replace("## Summary", "").split())[:100],
        "cost_usd": Decimal(0),
        "answers": sorted({key for row in found.rows for key in row.compaction.answers}),
    }


def _name_of(source: Conversation) -> str:
    return SOURCES[GATEWAY if source.kind == GATEWAY else CHAT]


def _as_copies(row: Compaction, found: Found) -> None:
    """Give the copied checkpoints the dates of their originals, as a fork's have: undoing one forgets all copies."""
    copies = list(Checkpoint.objects.filter(compaction=row).order_by("number"))
    for copy, original in zip(copies, found.rows, strict=True):
        copy.created_at = original.created_at
    Checkpoint.objects.bulk_update(copies, ["created_at"])
