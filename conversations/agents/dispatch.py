"""Carries out the tool calls of a model's reply; the row of each call stores its status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Q

from conversations.agents import runs
from conversations.agents.reply_scope import Work
from conversations.context import tools
from conversations.context.tools import SERVER_SEPARATOR
from conversations.context.transcript import Loaded
from conversations.llm.tools import Spec, ToolFailed, ToolRequest
from conversations.messages import tool_calls
from conversations.models import Conversation, ToolCall
from conversations.runtime import metrics
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.runtime.lease import LeaseLost
from conversations.runtime.payloads import call_json
from conversations.runtime.retry import retry_on_database_error

logger = logging.getLogger(__name__)

Status = ToolCall.Status

AT_ONCE = 4
"""The most calls of one message that are carried out at the same time."""
STOPPED = "It was stopped."
BROKEN = "Something went wrong on this site; the log says what."
UNCERTAIN = "The server stopped while this was under way: it may have taken effect, or not."
type Planner = Callable[[Work, ToolRequest, tuple[Spec, ...]], Awaitable[str]]
"""Carries out a call of a planner's own tools, given its offered tools; see `planner.carry_out`."""


async def carry_out(work: Work, loaded: Loaded, planner: Planner | None = None) -> bool:
    """Carry out all unfinished calls of the last message; False if there are none.

    Calls run at the same time, but those of the `planner` one after the other: only one task may be open at a time.
    Raises LeaseLost.
    """
    rows = [row async for row in tool_calls.unfinished(Q(message=UUID(loaded.live[-1].id)))]
    has_planner = planner is not None and loaded.head.kind == Conversation.Kind.AGENT
    apart = [row for row in rows if has_planner and row.name in tools.PLANNERS]
    limit = asyncio.Semaphore(AT_ONCE)
    try:
        async with asyncio.TaskGroup() as group:
            for row in rows:
                if row not in apart:
                    group.create_task(_limited(limit, work, loaded, row))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    for row in apart:
        await _carry_out(work, loaded, row, planner)
    return bool(rows)


def abandon(conversation_id: UUID) -> None:
    """End the conversation's unfinished calls, and its running task, because their reply has ended."""
    with transaction.atomic():
        for thread in runs.stop(conversation_id):
            _abandon(thread)
        _abandon(conversation_id)


def _abandon(conversation_id: UUID) -> None:
    for row in tool_calls.unfinished(Q(message__conversation=conversation_id)):
        tool_calls.end(row, None, error=STOPPED)
        _publish_call(row)


async def _limited(limit: asyncio.Semaphore, work: Work, loaded: Loaded, row: ToolCall) -> None:
    async with limit:
        await _carry_out(work, loaded, row)


async def _carry_out(work: Work, loaded: Loaded, row: ToolCall, planner: Planner | None = None) -> None:
    began = perf_counter()
    result, error = None, ""
    try:
        if row.status == Status.RUNNING and SERVER_SEPARATOR in row.name:
            raise ToolFailed(UNCERTAIN)
        await retry_on_database_error(partial(_begin, work, row))
        result = await _result(work, loaded, ToolRequest(row.call_id, row.name, row.arguments), planner)
    except ToolFailed as failure:
        error = str(failure)
    except (LeaseLost, ObjectDoesNotExist):  # another worker has taken over, or the row was deleted
        raise
    except Exception:
        logger.exception("the call %s of %s failed", row.pk, row.name)
        error = BROKEN
    seconds = perf_counter() - began
    await retry_on_database_error(partial(_finish, work, row, result, error=error, duration_ms=int(seconds * 1000)))
    is_known = any(one.name == row.name for one in loaded.head.tools)
    metrics.tool_called(tools.metric_label(row.name if is_known else None), row.status, seconds)


async def _result(work: Work, loaded: Loaded, asked: ToolRequest, planner: Planner | None) -> str:
    head = loaded.head
    if planner:
        return await planner(work, asked, head.tools)
    return await work.toolbox.call(asked, among=head.tools, about=head.parent_id or head.id)


def _begin(work: Work, row: ToolCall) -> None:
    with transaction.atomic():
        work.hold()
        row.status = Status.RUNNING
        row.save(update_fields=["status"])
        _publish_call(row)


def _finish(work: Work, row: ToolCall, result: str | None, *, error: str, duration_ms: int) -> None:
    with transaction.atomic():
        work.hold()
        tool_calls.end(row, result, error=error, duration_ms=duration_ms)
        _publish_call(row)


def _publish_call(row: ToolCall) -> None:
    """Publish a call's present state to the conversation; an executor's call is published as a step of its run."""
    conversation = Conversation.objects.select_related("model").get(messages=row.message_id)
    if conversation.parent_id is not None:
        runs.publish_step(row.message_id)
        return
    payload = call_json(row, conversation.window, most=settings.TOOL_RESULT_MAX_CHARS)
    transaction.on_commit(
        lambda: publish(conversation.pk, EventType.TOOL_UPDATED, message_id=str(row.message_id), call=payload)
    )
