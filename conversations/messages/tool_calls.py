"""Stores tool calls: with the message that made them, and ended once with a result, which updates its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet, Sum

from compression.core.values import ToolUse
from conversations.context import transcript
from conversations.llm.tools import ToolRequest
from conversations.models import Message, ToolCall

CUT_OFF = "This was going on when the conversation was copied."
"""The error of a copied call that had not ended."""

Status = ToolCall.Status

ERROR = "Error: "
"""The prefix of an error that is sent to the model in place of a result."""


def store(message: Message, asked: Sequence[ToolRequest]) -> None:
    """Store the pending tool calls of a message that was stored just now."""
    ToolCall.objects.bulk_create(
        ToolCall(
            message=message,
            call_id=one.id,
            name=one.name,
            arguments=one.arguments,
            created_at=message.created_at,
            token_count=transcript.tool_tokens(_use(one)),
            status=Status.PENDING,
        )
        for one in asked
    )


def tokens_of(content: str, asked: Sequence[ToolRequest]) -> int:
    """The tokens of a message with tool calls that have no results yet."""
    return transcript.message_tokens(content, [_use(one) for one in asked])


def unfinished(which: Q) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(which, status__in=ToolCall.UNFINISHED).order_by("id")


def end(row: ToolCall, result: str | None, *, error: str = "", **fields: Any) -> None:
    """Store a call's result or error and count its message's tokens again; the caller opens a transaction."""
    row.status = Status.FAILED if error else Status.DONE
    row.error, row.result = error, f"{ERROR}{error}" if error else result
    row.token_count = transcript.tool_tokens(ToolUse(row.call_id, row.name, row.arguments, _sent(row)))
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(update_fields=["status", "error", "result", "token_count", *fields])
    message = Message.objects.get(pk=row.message_id)
    uses = message.tool_calls.aggregate(tokens=Sum("token_count"))["tokens"]
    Message.objects.filter(pk=message.pk).update(token_count=transcript.message_tokens(message.content) + uses)


def _sent(row: ToolCall) -> str | None:
    return None if row.result is None else transcript.truncated(row.result)


def _use(one: ToolRequest) -> ToolUse:
    return ToolUse(one.id, one.name, one.arguments, None)
