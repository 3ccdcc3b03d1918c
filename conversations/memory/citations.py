"""The sources of summaries' statements, as they were noted when each summary was accepted; every view has these.

Older and imported summaries are checked when somebody first opens a view of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from compression.core.citation_values import Citations, as_json, from_json
from compression.core.citations.check import cited, doubted_in, unfound_in
from compression.core.citations.claims import claims_in
from compression.core.citations.marks import without_marks
from compression.core.plan.aging import MAX_REREAD_TOKENS, SELECTING
from compression.core.values import Checkpoint as CheckpointValue
from compression.core.values import Turn
from compression.models import Checkpoint, Compaction
from conversations.context import transcript
from conversations.models import Conversation, Goal, Message

MAX_TOKENS = 1_000_000
"""Tokens of messages that are read to look at the statements of a single summary."""
LONG = ("summary", "facts")
"""Columns that are read only for summaries that need a check."""
TICK = timedelta(microseconds=1)


def citations_of(compactions: Iterable[Compaction]) -> dict[UUID, Citations]:
    """The citations of each compaction's own summary in its latest version, by the compaction's id."""
    done = [row.pk for row in compactions if row.was_in_force]
    if not done:
        return {}
    rows = Checkpoint.objects.filter(compaction__in=done).order_by("last_message_at", "number")
    own = {row.compaction_id: row for row in rows.defer(*LONG)}
    return _looked_at(own)


def citations_in_force(conversation: Conversation) -> dict[UUID, Citations]:
    """The citations of all summaries in force, by their checkpoint's id."""
    active = Checkpoint.objects.filter(conversation=conversation, active=True)
    return _looked_at({row.pk: row for row in active.defer(*LONG)})


def unsupported_in_force(conversation: Conversation) -> int:
    """The number of statements of all summaries in force that no message supports."""
    return sum(found.unsupported for found in citations_in_force(conversation).values())


def citations_json(row: Checkpoint) -> dict[str, Any]:
    """The citations of a checkpoint as the API and exports have them; null if they were not looked at."""
    found = from_json(row.citations)
    if found is None:
        return {"statements": None, "unsupported": None, "dropped": None, "citations": None}
    citations = [
        {
            "statement": claim.text,
            "messages": list(found.ids_of(number)),
            "missing": list(found.missing.get(number, ())),
        }
        for number, claim in enumerate(claims_in(without_marks(row.summary)))
        if claim.text
    ]
    counts = {"statements": found.said, "unsupported": found.unsupported, "dropped": found.dropped}
    return counts | {"citations": citations}


def citations_of_checkpoint(row: Checkpoint) -> Citations | None:
    """The citations of one summary; None if its messages are too long to be read."""
    if row.citations is None and row.original_tokens <= MAX_TOKENS:
        _look_at(row)
    return from_json(row.citations)


def citations_of_edit(summary: str, row: Checkpoint, *, before: CheckpointValue) -> Citations:
    """The citations of a text that a person puts in place of a checkpoint's summary.

    A person's words need no message: unsupported are only statements of the summary `before` that were, and still are.
    """
    turns = _covered(row) if row.original_tokens <= MAX_TOKENS else ()
    doubted = doubted_in((before,))
    unfound = unfound_in(summary, turns, doubted=doubted) & doubted
    return cited(summary, turns, earlier=(before,), unfound=unfound)


def _looked_at(rows: Mapping[UUID, Checkpoint]) -> dict[UUID, Citations]:
    """The citations of checkpoints, by their keys; as many as MAX_REREAD_TOKENS allow are looked at that have none."""
    left = MAX_REREAD_TOKENS
    for row in rows.values():
        if row.citations is None and row.original_tokens <= left:
            left -= row.original_tokens
            _look_at(row)
    return {key: found for key, row in rows.items() if (found := from_json(row.citations))}


def _look_at(row: Checkpoint) -> None:
    """Find the sources of a summary's statements, and note them with it."""
    turns = _covered(row)
    unfound: frozenset[str] = frozenset()
    if row.model not in SELECTING and not row.provisional and turns:
        steering = row.compaction.steering
        wishes = [str(steering.get(name) or "") for name in ("instructions", "prompt")]
        is_steered = any(wishes) or bool(row.conversation.policy.get("prompt"))
        unfound = unfound_in(row.summary, turns, beside=(*wishes, *_goals(row)), is_steered=is_steered)
    row.citations = as_json(cited(row.summary, turns, unfound=unfound))
    Checkpoint.objects.filter(pk=row.pk, citations__isnull=True).update(citations=row.citations)


def _covered(row: Checkpoint) -> tuple[Turn, ...]:
    """The messages that a checkpoint's summary covers, kept ones included."""
    first = Message.objects.filter(pk=row.first_message).values_list("created_at", flat=True).first()
    if first is None:
        return ()
    return transcript.originals(row.conversation_id, first - TICK, row.last_message_at, row.stragglers)


def _goals(row: Checkpoint) -> list[Any]:
    return list(Goal.objects.filter(conversation=row.conversation_id).values_list("description", flat=True))
