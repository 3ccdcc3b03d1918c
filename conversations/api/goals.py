"""/api/conversations/{id}/goal: what a conversation is to reach, and how far it is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import Router

from conversations.access import TO_READ, get_conversation, writable_conversation
from conversations.api.auth import Request
from conversations.api.openapi import refuses
from conversations.api.schemas import goals as schema
from conversations.api.schemas.fields import described
from conversations.errors import NotFound
from conversations.instructions import goals
from conversations.runtime.payloads import goal_json

router = Router(tags=["goal"])


@router.get(
    "/{uuid:conversation_id}/goal", operation_id="goals_read", response=described(schema.Goal), summary="Read the goal"
)
def read_goal(request: Request, conversation_id: UUID) -> dict[str, Any]:
    """The active goal; 404 if none is set."""
    goal = goals.active_goal(get_conversation(request.auth, conversation_id, kinds=TO_READ).pk)
    if goal is None:
        raise NotFound("This conversation has no goal.")
    return goal_json(goal)


@router.put(
    "/{uuid:conversation_id}/goal",
    operation_id="goals_put",
    response=described(schema.Goal),
    summary="Set the goal",
    openapi_extra=refuses(409),
)
def put_goal(request: Request, conversation_id: UUID, body: schema.GoalIn) -> dict[str, Any]:
    """Sets the goal, or changes the words, priority and progress of the active one."""
    conversation = writable_conversation(request.auth, conversation_id)
    progress = body.progress
    goal = goals.set_goal(conversation, description=body.description, priority=body.priority, progress=progress)
    return goal_json(goal)


@router.post(
    "/{uuid:conversation_id}/goal/end",
    operation_id="goals_end",
    response={204: None},
    summary="End the goal",
    openapi_extra=refuses(409),
)
def end_goal(request: Request, conversation_id: UUID, body: schema.Ending) -> None:
    """The goal leaves the system prompt; it stays on record."""
    goals.end_goal(writable_conversation(request.auth, conversation_id), status=body.status)
