"""Puts a compaction in force, in one transaction and only if the state that it was computed from is unchanged."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from compression.core.digest import extend_digest
from compression.core.values import Draft
from compression.models import Compaction, Snapshot
from compression.records import store_checkpoints
from conversations.compaction import lease
from conversations.compaction.snapshots import Superseded, hold, keep, keep_protected
from conversations.context import goals, transcript, usage
from conversations.models import Conversation, Message


def commit(row: Compaction, head: transcript.Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """Replace the state that the draft was computed from by the draft, all of it or nothing.

    Raises Superseded if that state has changed, or LeaseLost if another worker has taken over.
    """
    with transaction.atomic():
        before = hold(head)
        replaced = Conversation.objects.filter(pk=head.id, compression_version=head.version).update(
            compressed_context=draft.context,
            compressed_tokens=draft.context_tokens,
            compressed_at=draft.cut,
            verbatim_ids=list(draft.verbatim_ids),
            elided=_still_elided(head, draft) if head.elided else {},
            compression_version=head.version + 1,
        )
        if not replaced or _digest_now(head, draft) != draft.checkpoints[-1].digest:
            raise Superseded
        keep(head, Snapshot.Purpose.ROLLBACK, compaction=row)
        store_checkpoints(row, draft, model=summariser)
        goals.advance(head.id, draft.marks, window=draft.transcript.window.size)
        keep_protected(head.id)
        figures |= {"request_before": before, "request_after": usage.total(head.id)}
        lease.finish(row, Compaction.Status.SUCCEEDED, summariser=summariser, **figures)


def _still_elided(head: transcript.Head, draft: Draft) -> dict[str, int]:
    """The elided messages (sent without their tools' results) that are still sent at all after the draft's cut."""
    live = Message.objects.filter(pk__in=head.elided, created_at__gt=draft.cut).values_list("pk", flat=True)
    sent = {*draft.verbatim_ids, *map(str, live)}
    return {id: tokens for id, tokens in head.elided.items() if id in sent}


def _digest_now(head: transcript.Head, draft: Draft) -> str:
    """The digest of the history up to the new cut, as it stands in the database."""
    assert draft.cut is not None
    return extend_digest(draft.transcript.digest, transcript.between(head.id, draft.transcript.cut, draft.cut))
