"""Restores a file's state of compression: recomputed from the messages, and undoable like any compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from compression.core import goal as core_goal
from compression.core.citation_values import as_json
from compression.core.context import FRAME
from compression.core.tokens import count_tokens
from compression.core.values import ToolUse
from compression.models import Checkpoint, Compaction, Snapshot
from conversations.context import prompt
from conversations.context.elisions import Elision
from conversations.context.policy import flow_of
from conversations.context.transcript import bare_tokens, message_tokens, truncated
from conversations.exchange.citations import with_ids
from conversations.exchange.compression_state import running_digests, turn_of
from conversations.exchange.document import ImportedMessage, ImportedSource, ImportedState, ImportedSummary
from conversations.exchange.fields import fault
from conversations.instructions import goals
from conversations.models import Conversation, Message
from conversations.models.model_profile import DEFAULT_WINDOW
from conversations.requests import usage

CAME_SO = "it came in with a file, compacted as it is"
STATE = ("compressed_context", "compressed_tokens", "compressed_at", "verbatim_ids", "elided", "compression_version")

Rows = Sequence[tuple[UUID, datetime]]
"""The ids and dates of the stored messages, in order."""


@dataclass(frozen=True, slots=True)
class RestoredState:
    """A state with its figures.

    Messages are named by their place; `elided` has those that are sent without results. `before` and
    `after` are the tokens of the messages that are compacted or elided, and of their replacement.
    """

    state: ImportedState
    context: str | None
    context_tokens: int
    summary_tokens: tuple[int, ...]
    digests: tuple[str, ...]
    kept: tuple[int, ...]
    elided: dict[int, Elision]
    condensed: int
    before: int
    after: int


def restored(
    conversation: Conversation, source: ImportedSource, state: ImportedState, tokens: list[int]
) -> RestoredState:
    """The state; every figure that can be computed is computed. `tokens` are those of its lines. Raises Invalid."""
    lines, end, summaries = source.lines, state.end, state.summaries
    context = "\n\n".join((FRAME, *(summary.text for summary in summaries))) if summaries else None
    context_tokens = message_tokens(context) if context else 0
    _require_room(conversation, source, context_tokens)
    kept = tuple(at for at in range(end) if lines[at].is_kept or lines[at].is_protected)
    condensed = set(range(end)).difference(kept)
    elided = {
        at: Elision(
            bare_tokens(
                line.content, [source.tool_use(call) for call in line.calls], role=line.role, excerpt=line.excerpt
            ),
            at + 1,
            line.excerpt,
        )
        for at, line in enumerate(lines)
        if line.is_elided and at not in condensed
    }
    turns = [turn_of(line, _as_sent(source, line)) for line in lines[:end]]
    return RestoredState(
        state=state,
        context=context,
        context_tokens=context_tokens,
        summary_tokens=tuple(count_tokens(summary.text) for summary in summaries),
        digests=tuple(running_digests(turns, [summary.last for summary in summaries])),
        kept=kept,
        elided=elided,
        condensed=len(condensed),
        before=sum(tokens[at] for at in condensed.union(elided)),
        after=context_tokens + sum(one.tokens for one in elided.values()),
    )


def put_in_force(conversation: Conversation, ready: RestoredState) -> None:
    """The state, and the compaction that undoing takes it back with; in the transaction that stored the messages."""
    stored = Message.objects.filter(conversation=conversation).order_by("created_at")
    rows = list(stored.values_list("pk", "created_at"))
    summaries = ready.state.summaries
    compaction = _compaction(conversation, ready, rows)
    compaction.request_before = usage.total(conversation.pk)
    compaction.save(force_insert=True)
    Snapshot.objects.create(
        conversation=conversation,
        compaction=compaction,
        purpose=Snapshot.Purpose.ROLLBACK,
        goal=goals.saved_progress(conversation.pk),
        created_at=compaction.created_at,
    )
    Checkpoint.objects.bulk_create(
        _checkpoint(compaction, summary, tokens, digest, rows)
        for summary, tokens, digest in zip(summaries, ready.summary_tokens, ready.digests, strict=True)
    )
    conversation.compressed_context = ready.context
    conversation.compressed_tokens = ready.context_tokens
    conversation.compressed_at = rows[ready.state.end - 1][1] if summaries else None
    conversation.verbatim_ids = [str(rows[at][0]) for at in ready.kept]
    conversation.elided = {str(rows[at][0]): list(one) for at, one in ready.elided.items()}
    conversation.compression_version = 1
    conversation.save(update_fields=STATE)
    compaction.request_after = usage.total(conversation.pk)
    compaction.save(update_fields=["request_after"])


def _compaction(conversation: Conversation, ready: RestoredState, rows: Rows) -> Compaction:
    """One compaction for the whole state; its cost was paid elsewhere."""
    summaries, now = ready.state.summaries, timezone.now()
    done = min(ready.state.compacted_at or now, now)
    return Compaction(
        conversation=conversation,
        flow=flow_of(conversation.kind),
        trigger=Compaction.Trigger.MANUAL,
        status=Compaction.Status.SUCCEEDED,
        strategy=ready.state.strategy,
        percent=100,
        summariser=summaries[-1].model if summaries else "",
        level=summaries[-1].level if summaries else None,
        first_message=rows[summaries[0].first][0] if summaries else None,
        last_message=rows[summaries[-1].last][0] if summaries else None,
        messages_condensed=ready.condensed,
        pre_tokens=ready.before,
        post_tokens=ready.after,
        reduction_percent=round(100 * (1 - ready.after / ready.before), 1) if ready.before else None,
        summary_preview=" ".join(summaries[-1].text.replace("## Summary", "").split())[:100] if summaries else "",
        steps=[{"summariser": "", "action": CAME_SO}],
        created_at=done,
        finished_at=done,
    )


def _checkpoint(compaction: Compaction, summary: ImportedSummary, tokens: int, digest: str, rows: Rows) -> Checkpoint:
    return Checkpoint(
        conversation_id=compaction.conversation_id,
        compaction=compaction,
        number=summary.number,
        level=summary.level,
        age=summary.age,
        summary=summary.text,
        token_count=tokens,
        birth_tokens=max(summary.birth_tokens, tokens),
        original_tokens=summary.original_tokens,
        first_message=rows[summary.first][0],
        last_message=rows[summary.last][0],
        last_message_at=rows[summary.last][1],
        model=summary.model,
        provisional=summary.is_provisional,
        stragglers=[str(rows[at][0]) for at in summary.stragglers],
        citations=as_json(with_ids(summary.citations, [id for id, _ in rows])),
        digest=digest,
        created_at=summary.created_at or compaction.created_at,
    )


def _require_room(conversation: Conversation, source: ImportedSource, tokens: int) -> None:
    """Raise Invalid unless the summaries leave room for a request to the model."""
    window, aim = conversation.model.usable_window if conversation.model else DEFAULT_WINDOW, source.goal
    goal = core_goal.render_goal(aim.description, aim.priority, aim.progress) if aim else ""
    system = prompt.opening_tokens(conversation, window=window, goal=goal)
    if tokens and window.corrected(system + tokens) > window.budget:
        raise fault(
            "checkpoints",
            f"the summaries take {tokens:,} tokens, and with the system prompt that is more than the {window.budget:,} "
            "that the model here can be sent.",
        )


def _as_sent(source: ImportedSource, line: ImportedMessage) -> list[ToolUse]:
    """The calls with their results in the form of stored rows, which is part of a row's digest."""
    uses = map(source.tool_use, line.calls)
    return [use if use.result is None else replace(use, result=truncated(use.result)) for use in uses]
