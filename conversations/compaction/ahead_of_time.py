"""Prepares summaries before they are needed: made after a reply, put in force when a compaction is due.

A prepared summary is a compaction row with status ready: its figures are known, and `prepared` holds the state to put
in force. It is not put in force early, and not after a change of the history that it covers.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from compression.core import goal
from compression.core.citation_values import as_json, from_json
from compression.core.context import render_context
from compression.core.values import MESSAGE_OVERHEAD, Checkpoint, Draft, Transcript
from compression.leases import expiry
from compression.models import Compaction
from compression.records import active_checkpoints, facts_of
from conversations.compaction import commit, lease, snapshots
from conversations.compaction.snapshots import Superseded
from conversations.context import transcript
from conversations.context.policy import policy_of
from conversations.context.transcript import Head
from conversations.errors import Conflict
from conversations.memory import prepared_summary
from conversations.models import Conversation
from conversations.runtime.lease import LeaseLost

Status = Compaction.Status


def store(row: Compaction, head: Head, draft: Draft, *, summariser: str, **figures: Any) -> None:
    """Store a draft as ready, in place of an older one. Raises LeaseLost, or `snapshots.Superseded`."""
    with transaction.atomic():
        # If the goal was changed since, the new goal would get the marks of the old one.
        same = Conversation.objects.filter(pk=head.id, compression_version=head.version)
        if not same.update(compression_version=head.version):
            raise Superseded
        prepared_summary.discard_ready(head.id)
        lease.finish(row, Status.READY, summariser=summariser, prepared=_saved(head, draft), **figures)


def ready(conversation_id: UUID) -> Compaction | None:
    """The conversation's prepared compaction, if it has one."""
    return Compaction.objects.filter(conversation_id=conversation_id, status=Status.READY).first()


def holds(conversation_id: UUID) -> bool:
    """Whether the prepared summary can still be put in force; discards it if it cannot."""
    row = ready(conversation_id)
    if row is None:
        return False
    if _draft(row, transcript.head_of(conversation_id)) is not None:
        return True
    prepared_summary.discard_ready(conversation_id)
    return False


def put_in_force(conversation_id: UUID) -> bool:
    """Put the prepared summary in force, in one short transaction; False if there is none or it is no longer valid."""
    row = ready(conversation_id)
    if row is None:
        return False
    try:
        head = transcript.head_of(conversation_id)
        draft = _draft(row, head)
        if draft is None:
            raise Superseded
        change = commit.prepare(head, draft)
        with transaction.atomic():
            snapshots.hold(head)  # first: changing a goal and deleting lock in the same order
            _take(row)
            author = row.summariser
            commit.write(row, change, author=author, summariser=author, duration_ms=row.duration_ms, prepared=None)
        return True
    except (IntegrityError, Conflict, LeaseLost):
        return False  # a compaction is running; the caller waits for it
    except Superseded:
        prepared_summary.discard_ready(conversation_id)
        return False


def _take(row: Compaction) -> None:
    """Make the ready row the running one. Raises Conflict if it was taken, IntegrityError if a compaction runs."""
    rows = Compaction.objects.filter(pk=row.pk, status=Status.READY)
    if not rows.update(status=Status.RUNNING, lease_expires_at=expiry()):
        raise Conflict("Someone else puts it in force.")


def _saved(head: Head, draft: Draft) -> dict[str, Any]:
    """The input of `_draft`, as JSON.

    `active`: the numbers of the active checkpoints. `lasting`: how many of them stay, with the new ones after them.
    """
    assert draft.cut is not None
    return {
        "active": [one.number for one in active_checkpoints(head.id)],
        "lasting": len(draft.transcript.checkpoints),
        "checkpoints": [
            asdict(one) | {"last_at": one.last_at.isoformat(), "citations": as_json(one.citations)}
            for one in draft.checkpoints
        ],
        "context_tokens": draft.context_tokens,
        "verbatim_ids": list(draft.verbatim_ids),
        "marks": goal.as_json(draft.marks),
    }


def _draft(row: Compaction, head: Head) -> Draft | None:
    """The prepared draft; None if the active checkpoints have changed or the draft has no room any more."""
    saved, active = row.prepared, active_checkpoints(head.id)
    if not saved or head.window is None or [one.number for one in active] != saved["active"]:
        return None
    if saved["context_tokens"] > policy_of(head).context_budget(head.window) + MESSAGE_OVERHEAD:
        return None
    lasting = active[: saved["lasting"]]
    checkpoints = tuple(_checkpoint(entry) for entry in saved["checkpoints"])
    return Draft(
        Transcript((), head.window, checkpoints=lasting, cut=lasting[-1].last_at if lasting else None),
        checkpoints=checkpoints,
        context=render_context(checkpoints),
        context_tokens=saved["context_tokens"],
        cut=checkpoints[-1].last_at,
        verbatim_ids=tuple(saved["verbatim_ids"]),
        marks=goal.from_json(saved["marks"]),
    )


def _checkpoint(entry: dict[str, Any]) -> Checkpoint:
    last_at, stragglers = datetime.fromisoformat(entry["last_at"]), tuple(entry["stragglers"])
    facts, citations = facts_of(entry.get("facts")), from_json(entry.get("citations"))
    return Checkpoint(**entry | {"last_at": last_at, "stragglers": stragglers, "facts": facts, "citations": citations})
