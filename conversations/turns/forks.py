"""Makes a new conversation out of another one: a fork at a message, or a fresh start from the summary alone.

A fork copies the history up to the message, with the compression that held there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import batched
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from compression.core.context import join_summaries
from compression.ids import uuid7
from compression.models import Checkpoint, Compaction, Snapshot
from compression.records import active_checkpoints
from conversations.compaction import snapshots as states
from conversations.context import transcript
from conversations.context.provenance import SUMMED_UP
from conversations.context.transcript import HISTORY
from conversations.errors import Conflict, NotFound
from conversations.instructions import goals, ledger
from conversations.messages import tool_calls
from conversations.messages.copied_requests import carry_to_fork
from conversations.messages.copying import copy_files, name_copies
from conversations.messages.tool_calls import CUT_OFF
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from conversations.models.conversation import MAX_TITLE_CHARS
from conversations.turns.branches import message_of

COPIED = (
    "owner_id", "title", "model_id", "project_id", "effort", "mode", "system_prompt", "proposed_system_prompt",
    "policy", "kind", "uses_tools", "shares_memory",
)  # fmt: skip
CONTINUED, FORKED = " (continued)", " (fork)"
OPENING = "This is where we stand, from an earlier conversation:"
BATCH = 500

Ids = dict[str, str]
"""Ids of the originals -> ids of their copies."""
Calls = dict[tuple[UUID, str], ToolCall]
"""The copied tool calls by their message's id and their call id."""
LAST = datetime.max.replace(tzinfo=UTC)


def fork(conversation: Conversation, message_id: UUID, *, kind: str | None = None) -> Conversation:
    """Copy the history up to and including a message, with the compression that held there.

    `kind` (chat or agent) is the kind of the copy, by default that of the source: an agent may begin from any history.

    The copy refers to nothing of the original. Raises NotFound, or Conflict if the message is not in the history.
    """
    with transaction.atomic():
        source = _locked(conversation)
        last = _last(source, message_id)
        state = _state_at(source.pk, last.created_at)
        copy = _like(source, title=_titled(source, FORKED) if source.title else "", **_as_kind(source, kind))
        ids = _copy_messages(source, copy, up_to=last.created_at) | _copy_goal(source, copy, state)
        _copy_compression(state, copy, ids)
        if copy.kind == source.kind:
            _copy_runs(source, copy, ids)
        ledger.copy_entries(source.pk, copy.pk, ids)
    copy.refresh_from_db()
    return copy


def fresh(conversation: Conversation) -> Conversation:
    """Make a conversation that begins with the summary of this one. Raises Conflict if nothing is compacted."""
    with transaction.atomic():
        source = _locked(conversation)
        text = join_summaries(active_checkpoints(source.pk))
        if not text:
            raise Conflict(_("Nothing is compacted: there is no summary to start from."), code="nothing_to_start_from")
        content = f"{OPENING}\n\n{text}"
        copy = _like(source, title=_titled(source, CONTINUED))
        copy.messages.create(
            role=Message.Role.USER,
            content=content,
            token_count=transcript.message_tokens(content),
            created_at=timezone.now(),
            origin=SUMMED_UP,
        )
        _copy_goal(source, copy, states.state(transcript.head_of(source.pk)))
        ledger.copy_entries(source.pk, copy.pk, None)
    copy.refresh_from_db()
    return copy


def _as_kind(source: Conversation, kind: str | None) -> dict[str, Any]:
    """The columns that change if the copy is of another kind. An agent always uses tools, as it plans with them."""
    if kind is None or kind == source.kind:
        return {}
    return {"kind": kind} | ({"uses_tools": True} if kind == Conversation.Kind.AGENT else {})


def _locked(conversation: Conversation) -> Conversation:
    """Read the conversation's row and lock it while it is copied. Raises NotFound."""
    source = Conversation.objects.select_for_update().filter(pk=conversation.pk).first()
    if source is None:
        raise NotFound(_("No such conversation."))
    return source


def _last(source: Conversation, message_id: UUID) -> Message:
    message = message_of(source, message_id)
    if message.is_streaming:
        raise Conflict(_("This reply is still being written: stop it, or wait for it."), code="reply_running")
    if not Message.objects.filter(HISTORY, pk=message.pk).exists():
        raise Conflict(_("Nothing was said here. Fork from the message before."), code="not_in_history")
    return message


def _state_at(conversation_id: UUID, moment: datetime) -> Snapshot:
    """The state of compression that represents nothing after `moment`: the present one, or one before a compaction."""
    head = transcript.head_of(conversation_id)
    if head.compressed_at is None or head.compressed_at <= moment:
        return states.state(head)
    return states.latest(conversation_id, up_to=moment) or states.uncompressed(conversation_id)


def _like(source: Conversation, **changed: Any) -> Conversation:
    """Store a new conversation with the same settings and no messages."""
    return Conversation.objects.create(**{name: getattr(source, name) for name in COPIED} | changed)


def _titled(source: Conversation, ending: str) -> str:
    return str(source)[: MAX_TITLE_CHARS - len(ending)] + ending


def _copy_goal(source: Conversation, copy: Conversation, state: Snapshot) -> Ids:
    """Copy the active goal with its progress as of `state`; the ids of the goal and its copy."""
    goal = goals.active_goal(source.pk)
    if goal is None:
        return {}
    reached = goals.progress_at(goal, state)
    own = goals.set_goal(copy, description=goal.description, priority=goal.priority, progress=reached)
    return {str(goal.pk): str(own.pk)}


def _copy_messages(source: Conversation, copy: Conversation, *, up_to: datetime) -> Ids:
    """Copy the history up to a moment, with its tool calls, files and pastes.

    The copies of replies keep the records of their requests and their costs.
    """
    ids: Ids = {}
    rows = Message.objects.filter(HISTORY, conversation=source, created_at__lte=up_to).order_by("created_at")
    for batch in batched(rows.iterator(chunk_size=BATCH), BATCH):
        olds = [row.pk for row in batch]
        calls = list(ToolCall.objects.filter(message__in=olds))
        for row in batch:
            _as_copy(row, copy, ids)
            row.copy_of = row.pk
            row.client_id = row.place = row.version = row.versions = None
            row.images = name_copies(row.images, ids)
        carry_to_fork(batch, source, copy, ids)
        Message.objects.bulk_create(batch)
        copy_files(copy, ids, of=olds)
        for call in calls:
            call.pk, call.message_id = None, UUID(ids[str(call.message_id)])
        ToolCall.objects.bulk_create(calls)
        for call in calls:
            if call.is_unfinished:
                tool_calls.end(call, None, error=CUT_OFF)
    return ids


def _copy_runs(source: Conversation, copy: Conversation, ids: Ids) -> None:
    """Copy an agent's ended runs, with their threads, whose planner steps all belong to copied messages."""
    if source.kind != Conversation.Kind.AGENT:
        return
    rows = AgentRun.objects.filter(conversation=source).exclude(status=AgentRun.Status.RUNNING)
    calls = {(call.message_id, call.call_id): call for call in ToolCall.objects.filter(message__conversation=copy)}
    for run in rows.select_related("thread").prefetch_related("steps__call"):
        steps = list(run.steps.all())
        if all(str(step.call.message_id) in ids for step in steps if step.call):
            _copy_run(run, steps, copy, ids, calls)


def _copy_run(run: AgentRun, steps: list[AgentStep], copy: Conversation, ids: Ids, calls: Calls) -> None:
    thread = _like(run.thread, parent=copy)
    copied_ids = _copy_messages(run.thread, thread, up_to=LAST)
    _copy_compression(states.state(transcript.head_of(run.thread_id)), thread, copied_ids)
    run.pk, run.conversation, run.thread = uuid7(), copy, thread
    run.save(force_insert=True)
    for step in steps:
        step.pk, step.run, step.message_id = None, run, UUID(copied_ids[str(step.message_id)])
        step.call = calls[UUID(ids[str(step.call.message_id)]), step.call.call_id] if step.call else None
    AgentStep.objects.bulk_create(steps)


def _copy_compression(state: Snapshot, copy: Conversation, ids: Ids) -> None:
    """Copy a state of compression, the compactions in effect in it, and the snapshots that undo these."""
    snapshots = list(Snapshot.objects.filter(compaction__in=state.compaction_ids, purpose__in=states.BEFORE_COMPACTION))
    used = {id for one in (state, *snapshots) for id in one.checkpoint_ids}
    _copy_compactions(state.compaction_ids, copy, ids)
    _copy_checkpoints(used, copy, ids, active=set(state.checkpoint_ids))
    for row in snapshots:
        _as_copy(row, copy, ids)
        _point(row, ids)
        row.compaction_id = UUID(ids[str(row.compaction_id)])
        row.checkpoint_ids = _of_copies(row.checkpoint_ids, ids)
        row.compaction_ids = _of_copies(row.compaction_ids, ids)
        row.goal = row.goal | {"id": ids[row.goal["id"]]} if row.goal and row.goal["id"] in ids else None
    Snapshot.objects.bulk_create(snapshots, BATCH)
    for name in states.LIVE:
        setattr(copy, name, getattr(state, name))
    _point(copy, ids)
    copy.save(update_fields=states.LIVE)
    states.keep_protected(copy.pk)


def _copy_compactions(chosen: list[str], copy: Conversation, ids: Ids) -> None:
    """Copy compactions. The copies have no tokens and no cost: the original has these already."""
    rows = list(Compaction.objects.filter(pk__in=chosen))
    for row in rows:
        _as_copy(row, copy, ids)
        row.lease_token = uuid7()
        row.prompt_tokens = row.completion_tokens = row.cached_tokens = 0
        row.cost_usd = None if row.cost_usd is None else 0 * row.cost_usd
        row.first_message, row.last_message = _copy_of(row.first_message, ids), _copy_of(row.last_message, ids)
        if "up_to" in row.steering:
            row.steering["up_to"] = ids.get(row.steering["up_to"])
        for step in row.steps:
            if "message_ids" in step:
                step["message_ids"] = _of_copies(step["message_ids"], ids)
    Compaction.objects.bulk_create(rows, BATCH)


def _copy_checkpoints(chosen: set[str], copy: Conversation, ids: Ids, *, active: set[str]) -> None:
    rows = list(Checkpoint.objects.filter(pk__in=chosen))
    for row in rows:
        row.active = str(row.pk) in active
        _as_copy(row, copy, ids)
        row.compaction_id = UUID(ids[str(row.compaction_id)])
        row.first_message, row.last_message = UUID(ids[str(row.first_message)]), UUID(ids[str(row.last_message)])
        row.stragglers = _of_copies(row.stragglers, ids)
        if row.citations:
            row.citations |= {"messages": [ids.get(id, id) for id in row.citations["messages"]]}
    Checkpoint.objects.bulk_create(rows, BATCH)


def _as_copy(row: Message | Compaction | Checkpoint | Snapshot, copy: Conversation, ids: Ids) -> None:
    """Turn a loaded row into an unsaved row of the copy, and note its new id in `ids`."""
    old, row.pk = row.pk, uuid7()
    ids[str(old)] = str(row.pk)
    row.conversation_id = copy.pk


def _point(state: Snapshot | Conversation, ids: Ids) -> None:
    """Have a state's `verbatim_ids` and `elided` name the copies; messages that were not copied drop out."""
    state.verbatim_ids = _of_copies(state.verbatim_ids, ids)
    state.elided = {ids[id]: tokens for id, tokens in state.elided.items() if id in ids}


def _of_copies(chosen: list[str], ids: Ids) -> list[str]:
    return [ids[id] for id in chosen if id in ids]


def _copy_of(id: UUID | None, ids: Ids) -> UUID | None:
    found = ids.get(str(id))
    return UUID(found) if found else None
