"""/api/conversations/{id}/goal: what a conversation is to reach, and how far it is."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from compression.core.goal import LONGEST, MOST, Artifact, Decision, Progress, Step
from conversations import goals
from conversations.access import get_conversation
from conversations.api.auth import Request
from conversations.errors import NotFound
from conversations.shapes import goal_json

router = Router(tags=["goal"])

Text = Annotated[str, Field(max_length=LONGEST)]
Strict = ConfigDict(extra="forbid", strict=True)


class StepIn(BaseModel):
    model_config = Strict

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    status: Literal["pending", "in-progress", "completed"] = "pending"
    completed_at: Annotated[str, Field(max_length=40)] = ""


class DecisionIn(BaseModel):
    model_config = Strict

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    rationale: Text = ""
    locked: bool = False


class ArtifactIn(BaseModel):
    model_config = Strict

    path: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    action: Literal["created", "modified", "deleted"] = "created"


class GoalIn(BaseModel):
    """The progress stays as it is unless one of its three lists is given; then all three are replaced."""

    model_config = Strict

    description: str
    priority: str = "normal"
    checkpoints: Annotated[list[StepIn], Field(max_length=MOST)] | None = None
    decisions: Annotated[list[DecisionIn], Field(max_length=MOST)] | None = None
    artifacts: Annotated[list[ArtifactIn], Field(max_length=MOST)] | None = None

    @property
    def progress(self) -> Progress | None:
        if self.checkpoints is None and self.decisions is None and self.artifacts is None:
            return None
        return Progress(
            tuple(Step(**row.model_dump()) for row in self.checkpoints or ()),
            tuple(Decision(**row.model_dump()) for row in self.decisions or ()),
            tuple(Artifact(**row.model_dump()) for row in self.artifacts or ()),
        )


class Ending(BaseModel):
    model_config = Strict

    status: Literal["completed", "dropped"] = "dropped"


@router.get("/{uuid:conversation_id}/goal", response=dict[str, Any])
def read(request: Request, conversation_id: UUID) -> dict[str, Any]:
    goal = goals.active(get_conversation(request.auth, conversation_id).pk)
    if goal is None:
        raise NotFound("This conversation has no goal.")
    return goal_json(goal)


@router.put("/{uuid:conversation_id}/goal", response=dict[str, Any])
def put(request: Request, conversation_id: UUID, body: GoalIn) -> dict[str, Any]:
    conversation = get_conversation(request.auth, conversation_id)
    progress = body.progress
    goal = goals.set_goal(conversation, description=body.description, priority=body.priority, progress=progress)
    return goal_json(goal)


@router.post("/{uuid:conversation_id}/goal/end", response={204: None})
def end(request: Request, conversation_id: UUID, body: Ending) -> None:
    """The goal leaves the system prompt; it stays on record."""
    goals.end_goal(get_conversation(request.auth, conversation_id), status=body.status)
