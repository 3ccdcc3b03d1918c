"""Converts rows and values to JSON, for the API and for events.

Tokens of rows are stored by our own count. A `window` converts them to the count of its model, as on the meter.
"""

from __future__ import annotations

from typing import Any

from compression.core.citation_values import Citations
from compression.core.plan.policy import Due
from compression.core.values import FlowUsage, Usage, Window
from compression.models import Compaction
from conversations.models import (
    AgentRun,
    AgentStep,
    Attachment,
    Conversation,
    Goal,
    LedgerEntry,
    Message,
    Paste,
    Project,
    ProjectMember,
    ToolCall,
)
from conversations.runtime import end_reasons


def conversation_json(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": str(conversation.id),
        "title": conversation.title,
        "model": conversation.model.name if conversation.model else None,
        "project": str(conversation.project_id) if conversation.project_id else None,
        "shares_memory": conversation.shares_memory,
        "mode": conversation.mode,
        "effort": conversation.effort or None,
        "system_prompt": conversation.system_prompt,
        "proposed_system_prompt": conversation.proposed_system_prompt,
        "policy": conversation.policy,
        "rules": conversation.rules,
        "kind": conversation.kind,
        "uses_tools": conversation.uses_tools,
        "pinned": conversation.pinned,
        "archived": conversation.archived,
        "compressed_at": conversation.compressed_at and conversation.compressed_at.isoformat(),
        "compression_version": conversation.compression_version,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
    }


def project_json(project: Project) -> dict[str, Any]:
    """A project as JSON; one without `conversation_count` is new and has no conversations."""
    return {
        "id": str(project.pk),
        "name": project.name,
        "colour": project.colour,
        "instructions": project.instructions,
        "model": project.model.name if project.model else None,
        "recalls": project.recalls,
        "conversations": getattr(project, "conversation_count", 0),
        "role": getattr(project, "role", "owner"),
        "owner": project.owner.get_username(),
        "created_at": project.created_at.isoformat(),
    }


def member_json(member: ProjectMember) -> dict[str, Any]:
    """A person that a project is shared with, as JSON."""
    return {
        "username": member.user.get_username(),
        "role": member.role,
        "since": member.created_at.isoformat(),
    }


def file_json(file: Any) -> dict[str, Any]:
    """A file of a project as JSON, with what `project_files.described` adds to its row."""
    return {
        "id": str(file.pk),
        "name": file.title,
        "tokens": file.tokens,
        "parts": file.parts,
        "created_at": file.created_at.isoformat(),
    }


def goal_json(goal: Goal) -> dict[str, Any]:
    return {
        "id": str(goal.pk),
        "description": goal.description,
        "priority": goal.priority,
        "status": goal.status,
        "checkpoints": goal.checkpoints,
        "decisions": goal.decisions,
        "artifacts": goal.artifacts,
        "created_at": goal.created_at.isoformat(),
        "updated_at": goal.updated_at.isoformat(),
    }


def entry_json(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "id": str(entry.pk),
        "kind": entry.kind,
        "text": entry.text,
        "state": entry.state,
        "message_id": str(entry.message) if entry.message else None,
        "said_at": entry.said_at.isoformat(),
        "asks_about": str(entry.asks_about) if entry.asks_about else None,
        "superseded_by": str(entry.superseded_by) if entry.superseded_by else None,
        "kept": bool(entry.kept_in_id or entry.kept_for_id),
        "history": entry.history,
    }


def message_json(message: Message, window: Window, *, is_bare: bool = False) -> dict[str, Any]:
    """A message as JSON. `is_bare`: it is known to have no attachments or pastes, so none are queried."""
    may_have = message.role == Message.Role.USER and not is_bare
    error, advice = end_reasons.failure(message.error)
    return {
        "id": str(message.id),
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "thoughts": _thoughts_json(message),
        "created_at": message.created_at.isoformat(),
        "status": message.status,
        "finish_reason": message.finish_reason,
        "token_count": window.corrected(message.token_count),
        "is_protected": message.is_protected,
        "model": message.model,
        "error": error,
        "advice": advice,
        "provider_words": message.provider_words,
        "usage": _spent_json(message),
        "is_copy": message.copy_of is not None,
        "attachments": [attachment_json(row, window) for row in message.attachments.all()] if may_have else [],
        "pastes": [paste_json(row) for row in message.pastes.all()] if may_have else [],
    }


def _thoughts_json(message: Message) -> dict[str, Any] | None:
    """A model's thoughts before its reply; None if it gave neither thoughts nor their tokens."""
    if not (message.thoughts or message.thought_tokens):
        return None
    return {"text": message.thoughts, "duration_ms": message.thought_ms, "tokens": message.thought_tokens}


def _spent_json(message: Message) -> dict[str, int | None]:
    return {
        "prompt_tokens": message.prompt_tokens,
        "completion_tokens": message.completion_tokens,
        "cached_tokens": message.cached_tokens,
    }


def call_json(call: ToolCall, window: Window, *, most: int | None = None) -> dict[str, Any]:
    """A tool call as JSON, with at most `most` characters of its arguments and of its result; None: no limit."""
    return {
        "id": call.call_id,
        "name": call.name,
        "arguments": call.arguments[:most],
        "result": call.result if call.result is None else call.result[:most],
        "error": call.error or None,
        "status": call.status,
        "tokens": window.corrected(call.token_count),
        "duration_ms": call.duration_ms,
    }


def run_json(run: AgentRun) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "thread_id": str(run.thread_id),
        "task": run.task,
        "status": run.status,
        "turns": run.turns,
        "error": end_reasons.failure(run.error).fact or None,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at and run.finished_at.isoformat(),
    }


def step_json(step: AgentStep, window: Window, *, most: int | None = None) -> dict[str, Any]:
    """An agent's step with its message and tool calls, at most `most` characters of each text; None: no limit."""
    message = step.message
    return {
        "number": step.number,
        "kind": step.kind,
        "message_id": str(message.pk),
        "content": message.content[:most],
        "tool_calls": [call_json(call, window, most=most) for call in message.tool_calls.all()],
        "token_count": window.corrected(message.token_count),
        "usage": _spent_json(message),
        "created_at": message.created_at.isoformat(),
    }


def flow_json(used: FlowUsage) -> dict[str, Any]:
    """The use of a flow's own budget of history as JSON, in tokens."""
    return {"flow": used.flow, "history": used.history, "budget": used.budget, "percent": used.percent}


def attachment_json(row: Attachment, window: Window) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "kind": row.kind,
        "name": row.name,
        "media_type": row.media_type,
        "size": row.size,
        "width": row.width,
        "height": row.height,
        "pages": row.pages,
        "tokens": window.corrected(row.tokens),
        "start": row.start,
        "length": row.length,
    }


def paste_json(row: Paste) -> dict[str, Any]:
    return {"number": row.number, "start": row.start, "length": row.length}


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "system": usage.system,
        "summary": usage.summary,
        "recalled": usage.recalled,
        "protected": usage.protected,
        "live": usage.live,
        "total": usage.total,
        "reserve": usage.window.reserve,
        "window": usage.window.size,
        "percent": usage.percent,
    }


def due_json(due: Due, usage: Usage) -> dict[str, Any]:
    tokens = int(due.tokens)
    return {"tokens": tokens, "percent": round(100 * tokens / usage.window.size, 1), "reason": due.reason}


def run_with_usage_json(run: AgentRun, used: FlowUsage | None) -> dict[str, Any]:
    """A run with how much its executor uses of its budget, as events tell it."""
    return run_json(run) | {"usage": flow_json(used) if used else None}


def started_json(compaction: Compaction) -> dict[str, Any]:
    """The data of `compression.started`; `blocking` says that replies wait for it."""
    blocking = compaction.trigger != Compaction.Trigger.AHEAD
    return {"id": str(compaction.pk), "trigger": compaction.trigger, "blocking": blocking}


def progress_json(compaction: Compaction, percent: int) -> dict[str, Any]:
    """The data of `compression.progress`."""
    return {"id": str(compaction.pk), "stage": compaction.stage, "percent": percent}


def completed_json(compaction: Compaction) -> dict[str, Any]:
    """The data of `compression.completed`."""
    return {
        "id": str(compaction.pk),
        "status": compaction.status,
        "before": compaction.before,
        "after": compaction.after,
        "error": end_reasons.failure(compaction.error).fact or None,
    }


def compaction_json(
    compaction: Compaction, *, facts_now: int | None = None, citations: Citations | None = None
) -> dict[str, Any]:
    """The compaction; `facts_now` are the facts of its messages that the next request has (None: not counted).

    `citations` are those of its summary (None: not looked at).
    """
    return {
        "id": str(compaction.id),
        "conversation_id": str(compaction.conversation_id),
        "flow": compaction.flow,
        "trigger": compaction.trigger,
        "status": compaction.status,
        "stage": compaction.stage,
        "percent": compaction.percent,
        "strategy": compaction.strategy,
        "summariser": compaction.summariser,
        "instructions": compaction.instructions,
        "messages_condensed": compaction.messages_condensed,
        "pre_tokens": compaction.before,
        "post_tokens": compaction.after,
        "reduction_percent": compaction.request_reduction_percent,
        "summary_reduction_percent": compaction.reduction_percent,
        "facts_found": compaction.facts_found,
        "facts_kept": compaction.facts_kept,
        "facts_repaired": compaction.facts_repaired,
        "facts_now": facts_now,
        "statements": citations and citations.said,
        "unsupported": citations and citations.unsupported,
        "dropped": citations and citations.dropped,
        "duration_ms": compaction.duration_ms,
        "prompt_tokens": compaction.prompt_tokens,
        "completion_tokens": compaction.completion_tokens,
        "cached_tokens": compaction.cached_tokens,
        "cost_usd": str(compaction.cost_usd) if compaction.cost_usd is not None else None,
        "summary_preview": compaction.summary_preview,
        "steps": compaction.steps,
        "error": end_reasons.failure(compaction.error).fact or None,
        "created_at": compaction.created_at.isoformat(),
        "finished_at": compaction.finished_at and compaction.finished_at.isoformat(),
    }
