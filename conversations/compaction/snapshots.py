"""Stores snapshots of a conversation's live state of compression and restores them exactly, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core.digest import extend_digest
from compression.models import Checkpoint, Compaction, KeptSummary, Snapshot, next_moment
from conversations.context import transcript
from conversations.errors import Conflict, NotFound
from conversations.instructions import goals
from conversations.memory import prepared_summary
from conversations.models import Conversation, Message
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish

RECOVERIES_KEPT = 5
"""How many snapshots of each purpose but rollback are kept, the newest."""
MAX_TRIES = 3
"""How often a snapshot is chosen, if the conversation changes each time before it is locked."""
TICK = timedelta(microseconds=1)
LIVE = ("compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids", "elided")
"""The columns of the live state, which a conversation and its snapshots share."""
BEFORE_COMPACTION = (Snapshot.Purpose.ROLLBACK, Snapshot.Purpose.EMERGENCY)


class StateBefore(NamedTuple):
    """A state to go back to, as of a version of the conversation; None: the present one."""

    version: int
    snapshot: Snapshot | None


class Superseded(Exception):
    """The conversation has changed since it was loaded, so a result computed from it is not written."""


def hold(head: transcript.Head) -> None:
    """Lock the state in `head` until the end of the transaction. Raises Superseded if it has changed since."""
    same = Conversation.objects.filter(pk=head.id, compression_version=head.version)
    if not same.update(compression_version=head.version):
        raise Superseded


def take_snapshot(conversation: Conversation) -> Snapshot:
    """Store a snapshot of the present state, which a person can restore."""
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(compression_version=F("compression_version"))
        return keep(transcript.head_of(conversation.pk), Snapshot.Purpose.MANUAL)


def undo(conversation: Conversation, compaction_id: UUID) -> None:
    """Restore the state before a compaction, which undoes it and all later ones. Raises Refused."""

    def chosen() -> Snapshot:
        snapshot = in_effect(conversation.pk).filter(compaction_id=compaction_id).first()
        if snapshot is None:
            raise Conflict(_("This compaction is not in effect: there is nothing to undo."), code="nothing_to_undo")
        return snapshot

    _go_back(conversation, chosen)


def rollback(conversation: Conversation, *, snapshot_id: UUID | None = None) -> Snapshot:
    """Restore a snapshot exactly; None undoes the last compaction. Messages written since stay.

    Returns the restored snapshot. Raises Refused.
    """

    def chosen() -> Snapshot:
        if snapshot_id is not None:
            snapshot = Snapshot.objects.filter(conversation=conversation, pk=snapshot_id).first()
        else:
            snapshot = in_effect(conversation.pk).first()
        if snapshot is None and snapshot_id is not None:
            raise NotFound("No such snapshot.")
        if snapshot is None:
            raise Conflict(_("There is no compaction to undo."), code="nothing_to_undo")
        return snapshot

    return _go_back(conversation, chosen)


def _go_back(conversation: Conversation, choose: Callable[[], Snapshot]) -> Snapshot:
    """Restore the chosen snapshot, which is chosen again if the conversation changes before it is locked.

    Of two undos at once, the second then undoes the compaction before.
    """
    rows = Conversation.objects.filter(pk=conversation.pk)
    for _attempt in range(MAX_TRIES):
        version = rows.values_list("compression_version", flat=True).get()
        snapshot = choose()
        _require_same_history(conversation.pk, snapshot)
        with transaction.atomic():
            if lock(conversation.pk) != version:
                continue
            _forget_summaries(conversation, snapshot)
            _take_back(conversation.pk, snapshot)
        conversation.refresh_from_db()
        return snapshot
    raise Conflict(_("The conversation was changed meanwhile. Nothing was undone: try again."))


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
    """Delete the stored answers of the compactions that restoring `snapshot` undoes, so that the model is asked again.

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
            prepared_summary.discard_ready(id)


def lock(conversation_id: UUID) -> int:
    """Lock the conversation's row by writing to it; the results of running compactions will be discarded.

    Returns the version that the conversation had. Raises Conversation.DoesNotExist.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    rows.update(compression_version=F("compression_version") + 1)
    return rows.values_list("compression_version", flat=True).get() - 1


def in_effect(conversation_id: UUID) -> QuerySet[Snapshot]:
    """The snapshots from before the compactions in effect, the latest compaction first."""
    return Snapshot.objects.filter(
        conversation_id=conversation_id,
        compaction__status=Compaction.Status.SUCCEEDED,
        purpose__in=BEFORE_COMPACTION,
    ).order_by("-compaction__created_at", "created_at")


def before(conversation_id: UUID, moment: datetime) -> StateBefore:
    """Find the state in which no message from `moment` on is compacted. It reads the whole history at most."""
    rows = Conversation.objects.filter(pk=conversation_id)
    version, cut = rows.values_list("compression_version", "compressed_at").get()
    if cut is None or moment > cut:
        return StateBefore(version, None)
    found = latest(conversation_id, up_to=moment - TICK)
    return StateBefore(version, found or uncompressed(conversation_id))


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
    store(replaced, Snapshot.Purpose.RECOVERY)
    transaction.on_commit(partial(publish, conversation_id, EventType.RESYNC))


def _require_same_history(conversation_id: UUID, snapshot: Snapshot) -> None:
    cut = snapshot.compressed_at
    if cut and _digests(conversation_id, [cut])[cut] != snapshot.digest:
        raise Conflict(
            _("Messages of this summary were edited or replaced since: it cannot be restored."),
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
    if cut and (found := with_protected(conversation_id, cut=cut, verbatim_ids=verbatim)) != verbatim:
        rows.update(verbatim_ids=found)


def with_protected(conversation_id: UUID, *, cut: datetime, verbatim_ids: Iterable[str]) -> list[str]:
    """`verbatim_ids`, then the ids of further protected messages up to the cut, oldest first."""
    protected = Message.objects.filter(
        transcript.HISTORY, conversation_id=conversation_id, created_at__lte=cut, is_protected=True
    )
    found = map(str, protected.order_by("created_at").values_list("pk", flat=True))
    return list(dict.fromkeys([*verbatim_ids, *found]))


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
    return store(state(head), purpose, compaction)


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


def store(snapshot: Snapshot, purpose: str, compaction: Compaction | None = None, **changed: Any) -> Snapshot:
    """Store the snapshot's state with these changes under its own purpose."""
    names = ("conversation_id", "checkpoint_ids", "compaction_ids", "digest", "goal", *LIVE)
    fields = {name: getattr(snapshot, name) for name in names} | changed
    fields["created_at"] = next_moment(Snapshot.objects.filter(conversation_id=snapshot.conversation_id))
    snapshot = Snapshot.objects.create(**fields, purpose=purpose, compaction=compaction)
    if purpose != Snapshot.Purpose.ROLLBACK:  # which is needed to undo its compaction, and is deleted with it
        rows = Snapshot.objects.filter(conversation_id=snapshot.conversation_id, purpose=purpose)
        older = rows.order_by("-created_at").values_list("pk", "compaction_id")[RECOVERIES_KEPT:]
        _retire(dict(older))
    return snapshot


def _retire(older: Mapping[UUID, UUID | None]) -> None:
    """Delete old snapshots; one that alone can undo its compaction becomes its rollback."""
    if not older:
        return
    rollbacks = Snapshot.objects.filter(compaction__in=filter(None, older.values()), purpose=Snapshot.Purpose.ROLLBACK)
    have_one = set(rollbacks.values_list("compaction_id", flat=True))
    needed = [pk for pk, compaction_id in older.items() if compaction_id and compaction_id not in have_one]
    Snapshot.objects.filter(pk__in=needed).update(purpose=Snapshot.Purpose.ROLLBACK)
    Snapshot.objects.filter(pk__in=older.keys() - set(needed)).delete()
