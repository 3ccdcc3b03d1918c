"""Finds the gateway's stored summary of the longest known beginning of a history, by digest.

Equal histories of one person have equal digests in all rows that store them. A summary that the person undid is not
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from compression.models import Checkpoint, Compaction, Snapshot
from conversations.compaction import snapshots
from conversations.models import Conversation

ASKED_AT_ONCE = 500
IN_EFFECT = Q(compaction__status=Compaction.Status.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A conversation's present state of compression, or one from before a later compaction (`is_current` false)."""

    conversation: Conversation
    state: Conversation | Snapshot
    digest: str
    is_current: bool


def covering(owner_id: int, digests: Sequence[str]) -> Iterator[StoredSummary]:
    """The summaries that end at one of these digests, the last digest first."""
    for digest, ids in _conversations(owner_id, digests):
        yield from (found for id in ids if (found := current(owner_id, id, digest)))
        yield from (found for id in ids if (found := _earlier(id, digest)))


def current(owner_id: int, conversation_id: UUID, digest: str) -> StoredSummary | None:
    """The conversation's present summary, if it is the person's own and ends at the digest."""
    active = Checkpoint.objects.filter(conversation=conversation_id, active=True).defer(
        "summary", "facts", "stragglers"
    )
    marked = active.annotate(is_forgotten=_forgotten("conversation", "last_message_at")).select_related("conversation")
    last = marked.order_by("-last_message_at", "-number").first()
    if last is None or last.digest != digest or last.is_forgotten:
        return None
    row = last.conversation
    is_own = row.owner_id == owner_id and row.kind == Conversation.Kind.GATEWAY
    return StoredSummary(row, row, digest, True) if is_own and row.compressed_at else None


def _conversations(owner_id: int, digests: Sequence[str]) -> Iterator[tuple[str, list[UUID]]]:
    """Digests at which summaries end, the last first, each with its conversations."""
    own = Q(
        conversation__owner_id=owner_id,
        conversation__kind=Conversation.Kind.GATEWAY,
        conversation__trashed_at=None,
    )
    rows = Checkpoint.objects.filter(IN_EFFECT, own)
    for chunk in batched(reversed(digests), ASKED_AT_ONCE):
        found: dict[str, set[UUID]] = {}
        for digest, id in rows.filter(digest__in=chunk).values_list("digest", "conversation_id"):
            found.setdefault(digest, set()).add(id)
        yield from ((digest, sorted(found[digest])) for digest in chunk if digest in found)


def _earlier(conversation_id: UUID, digest: str) -> StoredSummary | None:
    """The summary of a conversation that has gone on since, if all its later compactions are in effect."""
    rows = snapshots.in_effect(conversation_id).filter(digest=digest).exclude(compressed_at=None)
    marked: Any = rows.annotate(is_forgotten=_forgotten("conversation", "compressed_at"))
    snapshot = marked.select_related("conversation").first()
    if snapshot is None or snapshot.is_forgotten:
        return None
    return StoredSummary(snapshot.conversation, snapshot, digest, False)


def _forgotten(conversation: str, cut: str) -> Exists:
    """Whether the person undid the original, or another copy, of a checkpoint up to the cut.

    A copy has its original's digest and date. A new summary has a date of its own.
    """
    undone = Checkpoint.objects.filter(
        digest=OuterRef("digest"),
        created_at=OuterRef("created_at"),
        conversation__owner=OuterRef("conversation__owner"),
        compaction__status=Compaction.Status.UNDONE,
    )
    copies = Checkpoint.objects.filter(
        IN_EFFECT, Exists(undone), conversation=OuterRef(conversation), last_message_at__lte=OuterRef(cut)
    )
    return Exists(copies)
