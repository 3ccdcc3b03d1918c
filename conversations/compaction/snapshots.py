"""Stores snapshots of a conversation's live state of compression and restores them exactly, each in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from compression.core.digest import extend_digest
from compression.models import Checkpoint, Compaction, KeptSummary, Snapshot
from conversations.context import goals, transcript, usage, version
from conversations.errors import Conflict, NotFound
from conversations.models import Conversation, Message
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish

RECOVERIES_KEPT = 5
LIVE = ("compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids", "elided")
"""The columns of the live state, which a conversation and its snapshots share."""
BEFORE_COMPACTION = (Snapshot.Purpose.ROLLBACK, Snapshot.Purpose.EMERGENCY)


class Superseded(Exception):
    """The conversation has changed since it was loaded, so a result computed from it is not written."""


def hold(head: transcript.Head) -> int | None:
    """Lock the state in `head` until the end of the transaction; returns the next request's tokens, as on the meter.

    Raises Superseded if the state has changed since `head` was read.
    """
    same = Conversation.objects.filter(pk=head.id, compression_version=head.version)
    if not same.update(compression_version=head.version):
        raise Superseded
    return usage.total(head.id)


def take_snapshot(conversation: Conversation) -> Snapshot:
    """Store a snapshot of the present state, which a person can restore."""
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(compression_version=F("compression_version"))
        return keep(transcript.head_of(conversation.pk), Snapshot.Purpose.MANUAL)


def undo(conversation: Conversation, compaction_id: UUID) -> None:
    """Restore the state before a compaction, which undoes it and all later ones. Raises Refused."""
    with transaction.atomic():
        lock(conversation.pk)
        snapshot = in_effect(conversation.pk).filter(compaction_id=compaction_id).first()
        if snapshot is None:
            raise Conflict("This compaction is not in effect: there is nothing to undo.", code="nothing_to_undo")
        _go_back(conversation, snapshot)


def rollback(conversation: Conversation, *, snapshot_id: UUID | None = None) -> Snapshot:
    """Restore a snapshot exactly; None undoes the last compaction. Messages written since stay.

    Returns the restored snapshot. Raises Refused.
    """
    with transaction.atomic():
        lock(conversation.pk)  # first: of two undos at once, the second then undoes the compaction before
        if snapshot_id is not None:
            snapshot = Snapshot.objects.filter(conversation=conversation, pk=snapshot_id).first()
        else:
            snapshot = in_effect(conversation.pk).first()
        if snapshot is None and snapshot_id is not None:
            raise NotFound("No such snapshot.")
        if snapshot is None:
            raise Conflict("There is no compaction to undo.", code="nothing_to_undo")
        _go_back(conversation, snapshot)
    return snapshot


def _go_back(conversation: Conversation, snapshot: Snapshot) -> None:
    _require_same_history(conversation.pk, snapshot)
    _forget_summaries(conversation, snapshot)
    _take_back(conversation.pk, snapshot)
    conversation.refresh_from_db()


def _take_back(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Restore the snapshot for its owner; if it compacts less than the present state, nothing is compacted by itself.

    That lasts until the owner chooses how to go on; see `undone`.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    cut, earlier = rows.values_list("compressed_at", flat=True).get(), snapshot.compressed_at
    restore(conversation_id, snapshot)
    compacts_less = cut is not None and (earlier is None or earlier < cut)
    rows.update(undone_at=timezone.now() if compacts_less else None)


def clear(conversation: Conversation) -> None:
    """Remove all compression, so that every message is sent verbatim. A snapshot keeps the previous state."""
    with transaction.atomic():
        lock(conversation.pk)
        head = transcript.head_of(conversation.pk)
        if head.compressed_at or head.elided:
            before = uncompressed(conversation.pk)
            _forget_summaries(conversation, before)
            _take_back(conversation.pk, before)
    conversation.refresh_from_db()


def _forget_summaries(conversation: Conversation, snapshot: Snapshot) -> None:
    """Delete the kept answers of the compactions that restoring `snapshot` undoes, so that the model is asked anew.

    What is prepared from these answers, here or in another conversation of the person, is discarded.
    """
    done = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    lists = done.exclude(pk__in=snapshot.compaction_ids).values_list("answers", flat=True)
    keys = {key for some in lists for key in some}
    if not keys:
        return
    KeptSummary.objects.filter(owner_id=conversation.owner_id, key__in=keys).delete()
    prepared = Compaction.objects.filter(
        conversation__owner_id=conversation.owner_id, status=Compaction.Status.READY
    ).values_list("conversation_id", "answers")
    for id, answers in prepared:
        if keys.intersection(answers):
            version.discard_ready(id)


def lock(conversation_id: UUID) -> None:
    """Lock the conversation's row by writing to it; the results of running compactions will be discarded."""
    Conversation.objects.filter(pk=conversation_id).update(compression_version=F("compression_version") + 1)


def in_effect(conversation_id: UUID) -> QuerySet[Snapshot]:
    """The snapshots from before the compactions in effect, the latest compaction first."""
    return Snapshot.objects.filter(
        conversation_id=conversation_id,
        compaction__status=Compaction.Status.SUCCEEDED,
        purpose__in=BEFORE_COMPACTION,
    ).order_by("-compaction__created_at", "created_at")


def latest(conversation_id: UUID, *, up_to: datetime) -> Snapshot | None:
    """The latest snapshot of `in_effect` with a cut at or before `up_to` and a digest that fits the present history."""
    earlier = in_effect(conversation_id).filter(compressed_at__lte=up_to)
    found = list(earlier.values_list("pk", "compressed_at", "digest"))
    digests = _digests(conversation_id, {cut for _, cut, _ in found if cut})
    held = next((pk for pk, cut, digest in found if cut and digests[cut] == digest), None)
    return Snapshot.objects.get(pk=held) if held else None


def uncompressed(conversation_id: UUID) -> Snapshot:
    """An unsaved snapshot without any compression: the state before the first compaction in effect, or now."""
    first = in_effect(conversation_id).last()
    return Snapshot(
        conversation_id=conversation_id,
        goal=first.goal if first else goals.saved_progress(conversation_id),
        created_at=first.created_at if first else timezone.now(),
    )


def restore(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Make `snapshot` the live state; a recovery snapshot keeps the replaced state.

    The snapshot fits the present history, and the caller holds the `lock`.
    """
    replaced = state(transcript.head_of(conversation_id))
    Conversation.objects.filter(pk=conversation_id).update(**{name: getattr(snapshot, name) for name in LIVE})
    goals.restore(conversation_id, snapshot)
    keep_protected(conversation_id)
    checkpoints = Checkpoint.objects.filter(conversation_id=conversation_id)
    checkpoints.filter(active=True).update(active=False)
    checkpoints.filter(pk__in=snapshot.checkpoint_ids).update(active=True)
    _mark_undone(conversation_id, snapshot)
    # Stored last: the restored snapshot may be the oldest recovery, which is deleted in favour of this one.
    _store(replaced, Snapshot.Purpose.RECOVERY)
    transaction.on_commit(partial(publish, conversation_id, EventType.RESYNC))


def _require_same_history(conversation_id: UUID, snapshot: Snapshot) -> None:
    cut = snapshot.compressed_at
    if cut and _digests(conversation_id, [cut])[cut] != snapshot.digest:
        raise Conflict(
            "Messages that this summary stands for were edited or replaced since: it cannot be restored.",
            code="history_changed",
        )


def _digests(conversation_id: UUID, cuts: Iterable[datetime]) -> dict[datetime, str]:
    """The digest of the stored history up to each cut; every message is read once."""
    found: dict[datetime, str] = {}
    after, digest = None, ""
    for cut in sorted(cuts):
        digest = found[cut] = extend_digest(digest, transcript.between(conversation_id, after, cut))
        after = cut
    return found


def keep_protected(conversation_id: UUID) -> None:
    """Add the protected messages before the cut to `verbatim_ids`, as some may have been protected after that state."""
    rows = Conversation.objects.filter(pk=conversation_id)
    cut, verbatim = rows.values_list("compressed_at", "verbatim_ids").get()
    if cut is None:
        return
    protected = Message.objects.filter(
        transcript.HISTORY, conversation_id=conversation_id, created_at__lte=cut, is_protected=True
    )
    found = [str(pk) for pk in protected.order_by("created_at").values_list("pk", flat=True)]
    if added := [pk for pk in found if pk not in verbatim]:
        rows.update(verbatim_ids=[*verbatim, *added])


def _mark_undone(conversation_id: UUID, snapshot: Snapshot) -> None:
    """Set which compactions are in effect as of the snapshot: mark all others as undone."""
    rows = Compaction.objects.filter(conversation_id=conversation_id)
    rows.filter(status=Compaction.Status.SUCCEEDED).exclude(pk__in=snapshot.compaction_ids).update(
        status=Compaction.Status.UNDONE
    )
    rows.filter(status=Compaction.Status.UNDONE, pk__in=snapshot.compaction_ids).update(
        status=Compaction.Status.SUCCEEDED
    )


def keep(head: transcript.Head, purpose: str, *, compaction: Compaction | None = None) -> Snapshot:
    """Store the state in `head`, with the checkpoints and compactions that are in effect now."""
    return _store(state(head), purpose, compaction)


def state(head: transcript.Head) -> Snapshot:
    """The state in `head` as an unsaved snapshot."""
    checkpoints = Checkpoint.objects.filter(conversation_id=head.id, active=True)
    compactions = Compaction.objects.filter(conversation_id=head.id, status=Compaction.Status.SUCCEEDED)
    kept = list(checkpoints.order_by("last_message_at", "number").values_list("pk", "digest"))
    return Snapshot(
        conversation_id=head.id,
        goal=goals.saved_progress(head.id),
        checkpoint_ids=[str(pk) for pk, _ in kept],
        compaction_ids=[str(pk) for pk in compactions.order_by("created_at").values_list("pk", flat=True)],
        digest=kept[-1][1] if kept else "",
        **{name: getattr(head, name) for name in LIVE},
    )


def _store(snapshot: Snapshot, purpose: str, compaction: Compaction | None = None) -> Snapshot:
    snapshot.purpose, snapshot.compaction = purpose, compaction
    snapshot.save(force_insert=True)
    if compaction is None:  # a snapshot with a compaction is needed to undo it, and is deleted with it
        rows = Snapshot.objects.filter(conversation_id=snapshot.conversation_id, purpose=purpose, compaction=None)
        older = rows.order_by("-created_at").values_list("pk", flat=True)[RECOVERIES_KEPT:]
        rows.filter(pk__in=list(older)).delete()
    return snapshot
