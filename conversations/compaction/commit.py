"""Puts a compaction in force, in one short transaction and only if the state that it was computed from is unchanged.

All measuring and looking up comes first, in `prepare`; the transaction writes at most a dozen rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from compression.core.digest import extend_digest
from compression.core.values import Draft
from compression.models import Compaction, Snapshot
from compression.records import store_checkpoints
from conversations.compaction import lease, snapshots
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.head import Head, tools_for
from conversations.context.transcript import Loaded
from conversations.instructions import goals
from conversations.memory import recall
from conversations.models import Conversation
from conversations.requests import usage

ROLLBACK = Snapshot.Purpose.ROLLBACK


@dataclass(frozen=True, slots=True)
class Change:
    """A new state of compression, measured and ready to be written.

    `columns` are the conversation's new values. `request_before` and `request_after` are the tokens of the whole next
    request, recalled passages included, in the old state and in the new one; None without a model.
    """

    head: Head
    columns: dict[str, Any]
    draft: Draft | None
    replaced: Snapshot
    progress: goals.Advance | None
    request_before: int | None
    request_after: int | None


def commit(row: Compaction, head: Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """Replace the state that the draft was computed from by the draft, all of it or nothing.

    Raises Superseded if that state has changed, or LeaseLost if another worker has taken over.
    """
    change = prepare(head, draft)
    with transaction.atomic():
        write(row, change, author=summariser, summariser=summariser, **figures)


def prepare(head: Head, draft: Draft) -> Change:
    """Measure the draft as the new state of the conversation. Raises Superseded if its history has changed."""
    assert draft.cut is not None
    loaded = recall.load(head.id)
    if loaded.head.version != head.version or _digest_now(head, draft) != draft.checkpoints[-1].digest:
        raise Superseded
    verbatim = snapshots.with_protected(head.id, cut=draft.cut, verbatim_ids=draft.verbatim_ids)
    sent = {*verbatim, *(turn.id for turn in loaded.turns if turn.created_at > draft.cut)}
    columns = {
        "compressed_context": draft.context,
        "compressed_tokens": draft.context_tokens,
        "compressed_at": draft.cut,
        "verbatim_ids": verbatim,
        "elided": {id: tokens for id, tokens in head.elided.items() if id in sent},
    }
    progress = goals.advance(head.id, draft.marks, window=draft.transcript.window.size)
    return changed(loaded, columns, draft=draft, progress=progress)


def changed(
    loaded: Loaded, columns: dict[str, Any], *, draft: Draft | None = None, progress: goals.Advance | None = None
) -> Change:
    """Measure the next request before and after these columns change."""
    covered = sum(one.original_tokens for one in draft.checkpoints) if draft else loaded.head.covered_tokens
    goal = progress.goal_text if progress else loaded.head.goal
    head = loaded.head._replace(**columns, covered_tokens=covered, goal=goal)
    if head.uses_tools and head.can_call:
        head = head._replace(tools=tools_for(head))
    before, after = usage.usage_of(loaded), usage.usage_of(recall.recalling(_cut(loaded, head), catches_up=False))
    return Change(
        loaded.head,
        columns,
        draft,
        snapshots.state(loaded.head),
        progress,
        before.total if before else None,
        after.total if after else None,
    )


def write(
    row: Compaction, change: Change, *, author: str, purposes: Sequence[str] = (ROLLBACK,), **figures: Any
) -> None:
    """Write the change and end the compaction's row, in the caller's transaction; each purpose gets a snapshot.

    `author` has written the newest checkpoint. Raises Superseded if the state has changed since it was read, and
    LeaseLost.
    """
    head = change.head
    rows = Conversation.objects.filter(pk=head.id, compression_version=head.version)
    if not rows.update(**change.columns, compression_version=head.version + 1):
        raise Superseded
    goal = goals.saved_progress(head.id) if head.goal else None  # a person may have changed it since
    for purpose in purposes:
        snapshots.store(change.replaced, purpose, row, goal=goal)
    if change.draft:
        store_checkpoints(row, change.draft, model=author)
    if change.progress and not goals.store(change.progress):
        raise Superseded
    figures |= {"request_before": change.request_before, "request_after": change.request_after}
    lease.finish(row, Compaction.Status.SUCCEEDED, **figures)


def _cut(loaded: Loaded, head: Head) -> Loaded:
    """The conversation loaded for its next request, in the state of `head`."""
    if head.compressed_at == loaded.head.compressed_at:
        return transcript.elided(replace(loaded, head=head, recalled=None))
    assert head.compressed_at is not None
    kept = tuple(turn for turn in loaded.turns if turn.id in set(head.verbatim_ids))
    live = tuple(turn for turn in loaded.turns if turn.created_at > head.compressed_at)
    return replace(loaded, head=head, kept=kept, live=live, recalled=None)


def _digest_now(head: Head, draft: Draft) -> str:
    """The digest of the history up to the new cut, as it stands in the database."""
    assert draft.cut is not None
    return extend_digest(draft.transcript.digest, transcript.between(head.id, draft.transcript.cut, draft.cut))
