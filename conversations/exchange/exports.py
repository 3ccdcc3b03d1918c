"""Exports a conversation as a file that can be imported again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from compression.core.values import Window
from compression.models import Checkpoint, Compaction
from conversations.context.elisions import elision
from conversations.context.transcript import HISTORY
from conversations.exchange.agent_runs import run_entry, runs_of
from conversations.exchange.attachments import bytes_to_tell, files_json, pastes_json
from conversations.exchange.compression_state import checkpoints_json
from conversations.exchange.export_signatures import seal_of
from conversations.exchange.formats.chatsite import FORMAT, VERSION
from conversations.exchange.goals import goal_of
from conversations.exchange.ledger import entries_json
from conversations.exchange.reply_figures import figures_json
from conversations.exchange.tool_calls import call_json
from conversations.instructions import goals
from conversations.memory.citations import citations_json
from conversations.messages.history import with_parts
from conversations.models import Conversation, Message
from conversations.models.model_profile import OWN_COUNT
from conversations.runtime.payloads import conversation_json

EXPORTED = (
    "id", "title", "model", "effort", "mode", "system_prompt", "proposed_system_prompt", "seal", "policy", "rules",
    "uses_tools", "compressed_at", "created_at", "updated_at",
)  # fmt: skip


def as_json(conversation: Conversation) -> dict[str, Any]:
    """The conversation as JSON, without its owner, keys or addresses of models."""
    messages = list(history_of(conversation))
    checkpoints = list(conversation.checkpoints.filter(active=True))
    compactions = list(in_effect(conversation).only("strategy", "finished_at"))
    states = checkpoints_json(checkpoints, messages)
    known = bytes_to_tell(messages)
    marks = {"is_kept": set(conversation.verbatim_ids), "is_elided": set(conversation.elided)}
    excerpts = {id: elision(stored).excerpt for id, stored in conversation.elided.items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "conversation": _conversation_json(conversation),
        "messages": [entry for message in messages for entry in _message_entries(message, marks, known, excerpts)],
        "ledger": entries_json(conversation.pk, messages),
        "checkpoints": [
            checkpoint_json(row, OWN_COUNT) | state for row, state in zip(checkpoints, states, strict=True)
        ],
        "compression": _compression_json(compactions[0]) if compactions else None,
        "runs": [run_entry(run, as_json(run.thread)) for run in runs_of(conversation, messages)],
        "totals": {
            "messages": len(messages),
            "tokens": sum(message.token_count for message in messages),
            "compressions": len(compactions),
            "summary_tokens": conversation.compressed_tokens,
        },
    }


def history_of(conversation: Conversation) -> QuerySet[Message]:
    return with_parts(conversation.messages.filter(HISTORY)).order_by("created_at")


def in_effect(conversation: Conversation) -> QuerySet[Compaction]:
    """The compactions in effect, the latest first."""
    return conversation.compactions.filter(status=Compaction.Status.SUCCEEDED)


def _compression_json(latest: Compaction) -> dict[str, Any]:
    return {"strategy": latest.strategy, "compacted_at": latest.finished_at and latest.finished_at.isoformat()}


def _conversation_json(conversation: Conversation) -> dict[str, Any]:
    columns = conversation_json(conversation)
    goal = goals.active_goal(conversation.pk)
    kind = Conversation.Kind.CHAT.value if conversation.kind == Conversation.Kind.GATEWAY else conversation.kind
    columns["seal"] = seal_of(conversation.owner_id, conversation.system_prompt)
    return {name: columns[name] for name in EXPORTED} | {"kind": kind, "goal": goal_of(goal) if goal else None}


def _message_entries(
    message: Message, marks: Mapping[str, set[str]], known: Mapping[UUID, bytes], excerpts: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """The message, then a message for each result of its calls, as in OpenAI's API.

    `marks` are flags of the state of compression, by name: the ids that have them. `known` are the bytes of images,
    `excerpts` the characters of shortened results that are sent, by the ids of their messages.
    """
    calls = list(message.tool_calls.all())
    entry: dict[str, Any] = {
        "id": str(message.id),
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "status": message.status,
        "is_protected": message.is_protected,
        "token_count": message.token_count,
    }
    optional = {
        "name": message.name,
        "excerpt": excerpts.get(str(message.id)),
        "model": message.model,
        "thoughts": message.thoughts,
        "finish_reason": message.finish_reason,
        "tool_calls": [call_json(call) for call in calls],
        "attachments": files_json(message, known),
        "pastes": pastes_json(message),
        "usage": figures_json(message),
    } | {name: str(message.id) in ids for name, ids in marks.items()}
    yield entry | {key: value for key, value in optional.items() if value}
    for call in calls:
        if call.result is not None:
            result = {"role": Message.Role.TOOL.value, "tool_call_id": call.call_id, "content": call.result}
            yield result | {"created_at": call.created_at.isoformat()}


def checkpoint_json(checkpoint: Checkpoint, window: Window) -> dict[str, Any]:
    """A checkpoint as JSON; `window` has the count of its tokens. `ratio` is the summary's tokens over those of the
    messages from `first_message` to `last_message`.
    """
    return {
        "number": checkpoint.number,
        "level": checkpoint.level,
        "age": checkpoint.age,
        "summary": checkpoint.summary,
        "tokens": window.corrected(checkpoint.token_count),
        "original_tokens": window.corrected(checkpoint.original_tokens),
        "ratio": round(checkpoint.token_count / checkpoint.original_tokens, 4) if checkpoint.original_tokens else None,
        "first_message": str(checkpoint.first_message),
        "last_message": str(checkpoint.last_message),
        "last_message_at": checkpoint.last_message_at.isoformat(),
        "model": checkpoint.model,
        "created_at": checkpoint.created_at.isoformat(),
    } | citations_json(checkpoint)
