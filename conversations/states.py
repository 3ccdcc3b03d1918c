"""The live state of compression: written in one transaction, kept in snapshots, and gone back to exactly."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from compression.core.digest import extend
from compression.core.values import Draft
from compression.models import Checkpoint, Compaction, Snapshot
from compression.records import store_checkpoints
from conversations import goals, lease, transcript
from conversations.errors import Conflict, NotFound
from conversations.events import publish
from conversations.models import Conversation, Message

RECOVERIES_KEPT = 5


class Superseded(Exception):
    """The conversation has changed since it was loaded: what was computed from it is not written."""


def commit(row: Compaction, head: transcript.Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """Put the draft in place of the state it was computed from, all of it or nothing.

    Raises Superseded, or LeaseLost where another worker has taken over.
    """
    verbatim = {turn.id for turn in draft.kept + draft.tail}
    with transaction.atomic():
        replaced = Conversation.objects.filter(pk=head.id, compression_version=head.version).update(
            compressed_context=draft.context,
            compressed_tokens=draft.context_tokens,
            compressed_at=draft.cut,
            verbatim_ids=list(draft.verbatim_ids),
            elided={id: tokens for id, tokens in head.elided.items() if id in verbatim},
            compression_version=head.version + 1,
        )
        if not replaced or _digest_now(head, draft) != draft.checkpoints[-1].digest:
            raise Superseded
        keep(head, Snapshot.Purpose.ROLLBACK, compaction=row)
        store_checkpoints(row, draft, model=summariser)
        goals.advance(head.id, draft.marks)
        lease.finish(row, Compaction.Status.SUCCEEDED, summariser=summariser, **figures)


def take_snapshot(conversation: Conversation) -> Snapshot:
    """Keep the state as it is now, to be gone back to by hand."""
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(compression_version=F("compression_version"))
        return keep(transcript.head_of(conversation.pk), Snapshot.Purpose.MANUAL)


def undo(conversation: Conversation, compaction_id: UUID) -> None:
    """Go back to the state before a compaction: it and later ones are undone. Raises Refused."""
    snapshot = Snapshot.objects.filter(
        conversation=conversation,
        compaction_id=compaction_id,
        compaction__status=Compaction.Status.SUCCEEDED,
        purpose=Snapshot.Purpose.ROLLBACK,
    ).first()
    if snapshot is None:
        raise Conflict("This compaction is not in effect: there is nothing to undo.", code="nothing_to_undo")
    rollback(conversation, snapshot_id=snapshot.pk)


def rollback(conversation: Conversation, *, snapshot_id: UUID | None = None) -> Snapshot:
    """Restore a snapshot exactly; None undoes the last compaction. Messages written since stay. Raises Refused."""
    snapshots = Snapshot.objects.filter(conversation=conversation)
    if snapshot_id is not None:
        snapshots = snapshots.filter(pk=snapshot_id)
    else:
        snapshots = snapshots.filter(
            purpose=Snapshot.Purpose.ROLLBACK, compaction__status=Compaction.Status.SUCCEEDED
        ).order_by("-created_at")
    snapshot = snapshots.first()
    if snapshot is None and snapshot_id is not None:
        raise NotFound("No such snapshot.")
    if snapshot is None:
        raise Conflict("There is no compaction to undo.", code="nothing_to_undo")
    with transaction.atomic():
        _restore(conversation.pk, snapshot)
        transaction.on_commit(partial(publish, conversation.pk, "resync"))
    conversation.refresh_from_db()
    return snapshot


def _restore(conversation_id: UUID, snapshot: Snapshot) -> None:
    # The write comes first: it is the lock that makes what is kept below the state that it replaces.
    Conversation.objects.filter(pk=conversation_id).update(compression_version=F("compression_version") + 1)
    head = transcript.head_of(conversation_id)
    keep(head, Snapshot.Purpose.RECOVERY)
    Conversation.objects.filter(pk=conversation_id).update(
        compressed_context=snapshot.compressed_context,
        compressed_tokens=snapshot.compressed_tokens,
        compressed_at=snapshot.compressed_at,
        verbatim_ids=snapshot.verbatim_ids,
        elided=snapshot.elided,
    )
    goals.restore(conversation_id, snapshot)
    _keep_protected(conversation_id, snapshot)
    checkpoints = Checkpoint.objects.filter(conversation_id=conversation_id)
    checkpoints.filter(active=True).update(active=False)
    checkpoints.filter(pk__in=snapshot.checkpoint_ids).update(active=True)
    _mark_undone(conversation_id, snapshot)


def _keep_protected(conversation_id: UUID, snapshot: Snapshot) -> None:
    """What was protected since, and stands before the restored cut, is sent word for word all the same."""
    if snapshot.compressed_at is None:
        return
    protected = Message.objects.filter(
        conversation_id=conversation_id, created_at__lte=snapshot.compressed_at, is_protected=True
    )
    found = [str(pk) for pk in protected.order_by("created_at").values_list("pk", flat=True)]
    if added := [pk for pk in found if pk not in snapshot.verbatim_ids]:
        Conversation.objects.filter(pk=conversation_id).update(verbatim_ids=[*snapshot.verbatim_ids, *added])


def _mark_undone(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Compactions are in effect as they were when the snapshot was taken."""
    rows = Compaction.objects.filter(conversation_id=conversation_id)
    rows.filter(status=Compaction.Status.SUCCEEDED).exclude(pk__in=snapshot.compaction_ids).update(
        status=Compaction.Status.UNDONE
    )
    rows.filter(status=Compaction.Status.UNDONE, pk__in=snapshot.compaction_ids).update(
        status=Compaction.Status.SUCCEEDED
    )


def keep(head: transcript.Head, purpose: str, *, compaction: Compaction | None = None) -> Snapshot:
    """A snapshot of the state in `head`, with the checkpoints and compactions that are in effect now."""
    checkpoints = Checkpoint.objects.filter(conversation_id=head.id, active=True).order_by("number")
    in_effect = Compaction.objects.filter(conversation_id=head.id, status=Compaction.Status.SUCCEEDED)
    kept = list(checkpoints.values_list("pk", "digest"))
    snapshot = Snapshot.objects.create(
        conversation_id=head.id,
        compaction=compaction,
        purpose=purpose,
        compressed_context=head.compressed_context,
        compressed_tokens=head.compressed_tokens,
        compressed_at=head.compressed_at,
        verbatim_ids=head.verbatim_ids,
        elided=head.elided,
        goal=goals.saved(head.id),
        checkpoint_ids=[str(pk) for pk, _ in kept],
        compaction_ids=[str(pk) for pk in in_effect.order_by("created_at").values_list("pk", flat=True)],
        digest=kept[-1][1] if kept else "",
    )
    if purpose != Snapshot.Purpose.ROLLBACK:
        _forget_all_but(RECOVERIES_KEPT, head.id, purpose)
    return snapshot


def _forget_all_but(count: int, conversation_id: UUID, purpose: str) -> None:
    rows = Snapshot.objects.filter(conversation_id=conversation_id, purpose=purpose).order_by("-created_at")
    rows.filter(pk__in=list(rows.values_list("pk", flat=True)[count:])).delete()


def _digest_now(head: transcript.Head, draft: Draft) -> str:
    """The digest of the history up to the new cut, as it stands in the database."""
    assert draft.cut is not None
    return extend(draft.transcript.digest, transcript.between(head.id, draft.transcript.cut, draft.cut))
