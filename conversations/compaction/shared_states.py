"""Finds the state of compression that stands for the longest known beginning of a history, for one person, by digest.

A person's chats and the gateway's histories share their summaries: equal histories have equal digests, whatever rows
store them. Nothing is shared that a person undid or edited, and nothing across the two that was asked for otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from compression.core.values import Steering
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.access import CHATS
from conversations.compaction import snapshots as states
from conversations.compaction.edit_summary import EDITED
from conversations.models import Conversation

ASKED_AT_ONCE = 500
QUALITY = Steering().quality
"""The quality of summaries that nobody asked for by hand; only these cross between chats and the gateway."""
WORDING = ("strategy", "level", "summary_max_tokens", "summariser", "prompt", "min_retention")
"""The fields of a policy that decide what a summary says: where they differ, a summary is asked for otherwise."""
GATEWAY, CHAT = Conversation.Kind.GATEWAY, Conversation.Kind.CHAT
IN_EFFECT = Q(compaction__status=Compaction.Status.SUCCEEDED)
PLAIN = (
    Q(provisional=False, compaction__steering__quality=QUALITY)
    & ~Q(model=EDITED)
    & ~Q(compaction__steering__has_any_keys=["instructions", "prompt"])
)
"""Checkpoints that were asked for as any other would be: neither a note in place of a summary, nor a person's words."""
OF_CHATS = Q(conversation__kind__in=CHATS, conversation__rules=[], conversation__noted=[], conversation__goal_text="")
"""Of chats, those without rules, noted entries and a goal, which a chat's summary leaves to its system prompt."""
SHARED = {
    GATEWAY: IN_EFFECT & (Q(conversation__kind=GATEWAY) | (OF_CHATS & PLAIN)),
    CHAT: IN_EFFECT & PLAIN & (Q(conversation__kind=GATEWAY) | OF_CHATS),
}
"""The checkpoints that a conversation of each kind may be given."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A conversation, stored or not, that a state is looked for, with the settings that decide what a summary says."""

    owner_id: int
    kind: str = GATEWAY
    mode: str = Conversation.Mode.ASSISTANT
    policy: Mapping[str, Any] | None = None

    def is_served_by(self, source: Conversation) -> bool:
        """Whether the source's summaries, as a whole, may be handed to this conversation."""
        if source.owner_id != self.owner_id:
            return False
        if source.kind == self.kind == GATEWAY:
            return True
        if source.kind in CHATS and (source.rules or source.noted or source.goal_text):
            return False
        return (source.mode, _wording(source.policy)) == (self.mode, _wording(self.policy or {}))


@dataclass(frozen=True, slots=True)
class SharedState:
    """A conversation's present state of compression, or one from before a later compaction (`is_current` false)."""

    conversation: Conversation
    state: Conversation | Snapshot
    digest: str
    checkpoint_ids: tuple[str, ...]
    is_current: bool


def covering(asker: Asker, digests: Sequence[str]) -> Iterator[SharedState]:
    """The states that end at one of these digests, the last digest first."""
    for digest, ids in _conversations(asker, digests):
        yield from (found for id in ids if (found := current(asker, id, digest)))
        yield from (found for id in ids if (found := _earlier(asker, id, digest)))


def current(asker: Asker, conversation_id: UUID, digest: str) -> SharedState | None:
    """The conversation's present state, if it ends at the digest and may be handed to the asker."""
    active = Checkpoint.objects.filter(conversation=conversation_id, active=True).select_related("conversation")
    rows = list(_marked(active.annotate(is_forgotten=_forgotten("conversation", "last_message_at"))))
    if not rows or rows[-1].digest != digest or rows[-1].is_forgotten:
        return None
    row = rows[-1].conversation
    if row.compressed_at is None or not asker.is_served_by(row) or not _may_cross(asker, row, rows):
        return None
    return SharedState(row, row, digest, tuple(str(one.pk) for one in rows), True)


def may_be_shared(asker: Asker, digests: Sequence[str]) -> bool:
    """Whether the owner has any checkpoint that ends at one of these digests."""
    return next(_conversations(asker, digests), None) is not None


def _conversations(asker: Asker, digests: Sequence[str]) -> Iterator[tuple[str, list[UUID]]]:
    """Digests at which shared checkpoints end, the last first, each with its conversations."""
    own = Q(conversation__owner_id=asker.owner_id, conversation__trashed_at=None)
    rows = Checkpoint.objects.filter(SHARED[Conversation.Kind(asker.kind)], own)
    for chunk in batched(reversed(digests), ASKED_AT_ONCE):
        found: dict[str, set[UUID]] = {}
        for digest, id in rows.filter(digest__in=chunk).values_list("digest", "conversation_id"):
            found.setdefault(digest, set()).add(id)
        yield from ((digest, sorted(found[digest])) for digest in chunk if digest in found)


def _earlier(asker: Asker, conversation_id: UUID, digest: str) -> SharedState | None:
    """The state of a conversation that has gone on since, if all its later compactions are in effect."""
    snapshots = states.in_effect(conversation_id).filter(digest=digest).exclude(compressed_at=None)
    marked = snapshots.annotate(is_forgotten=_forgotten("conversation", "compressed_at"))
    snapshot = marked.select_related("conversation").first()
    if snapshot is None or snapshot.is_forgotten or not asker.is_served_by(snapshot.conversation):
        return None
    row, ids = snapshot.conversation, snapshot.checkpoint_ids
    if row.kind != asker.kind or asker.kind != GATEWAY:
        rows = _marked(Checkpoint.objects.filter(pk__in=ids))
        if not _may_cross(asker, row, rows):
            return None
    return SharedState(row, snapshot, digest, tuple(ids), False)


def _marked(rows: Any) -> Any:
    """The checkpoints in order, with how they were asked for, and without their texts."""
    marked = rows.annotate(steering=F("compaction__steering")).defer("summary", "facts", "stragglers")
    return marked.order_by("last_message_at", "number")


def _may_cross(asker: Asker, source: Conversation, rows: Collection[Any]) -> bool:
    """Whether all these checkpoints are PLAIN, where they would leave the gateway or a chat."""
    return source.kind == asker.kind == GATEWAY or all(
        row.steering.get("quality") == QUALITY
        and not (row.provisional or row.model == EDITED or row.steering.keys() & {"instructions", "prompt"})
        for row in rows
    )


def _forgotten(conversation: str, cut: str) -> Exists:
    """Whether the person undid the original, or another copy, of a checkpoint up to the cut.

    A copy has its original's digest and date: one that was made anew, in the same words or not, has a date of its own.
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


def _wording(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {name: policy[name] for name in WORDING if policy.get(name) not in (None, "")}
