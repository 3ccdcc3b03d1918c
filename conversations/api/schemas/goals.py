"""Schemas of a conversation's goal."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from compression.core import goal as core
from conversations.api.schemas.fields import Body, about
from conversations.models.goal import MAX_GOAL_CHARS

Priority = Literal["low", "normal", "high"]
StepStatus = Literal["pending", "in-progress", "completed"]
Action = Literal["created", "modified", "deleted"]
Line = Annotated[str, Field(min_length=1, max_length=core.MAX_TEXT_CHARS)]
Date = Annotated[
    str, Field(max_length=40, json_schema_extra={"anyOf": [{"const": ""}, {"type": "string", "format": "date-time"}]})
]
COMPLETED = "2026-11-20T09:12:44+00:00"


class Step(BaseModel):
    text: str = about("The goal in words.", "Move the nightly export to the new bucket")
    status: StepStatus = about("How far it is.", "completed")
    completed_at: str = about("When it was done, in ISO 8601; empty for what is not done.", COMPLETED)


class Decision(BaseModel):
    text: str = about("What was decided.", "Keep PostgreSQL")
    rationale: str = about("Why; empty where that was not said.", "the reports need window functions")
    locked: bool = about("Whether summaries may no longer change it.", True)


class Artifact(BaseModel):
    path: str = about("A file.", "deploy/export.yaml")
    action: Action = about("What became of it.", "modified")


class Goal(BaseModel):
    """A goal is never compacted: it is a part of every request's system prompt."""

    id: UUID = about("Its id.", "0199b3c2-90aa-7c10-8f0e-6d1f5a3f0c11")
    description: str = about("What the conversation is to reach.", "Move the billing service to the new cluster")
    priority: Priority = about("How much it matters.", "normal")
    status: Literal["active", "completed", "dropped"] = about("Only an active one is sent.", "active")
    checkpoints: list[Step] = about("Its steps, in order.")
    decisions: list[Decision] = about("What was decided on the way.")
    artifacts: list[Artifact] = about("Files that were touched on the way.")
    created_at: datetime = about("When it was set.", "2026-11-20T08:30:00+00:00")
    updated_at: datetime = about("When it last changed.", COMPLETED)


class StepIn(Body):
    text: Line = about("The goal in words.", "Move the nightly export to the new bucket")
    status: StepStatus = Field(default="pending", description="How far it is.")
    completed_at: Date = Field(default="", description="When it was done, in ISO 8601; empty: it is not.")


class DecisionIn(Body):
    text: Line = about("What was decided.", "Keep PostgreSQL")
    rationale: Annotated[str, Field(max_length=core.MAX_TEXT_CHARS)] = Field(default="", description="Why.")
    locked: bool = Field(default=False, description="Whether summaries may no longer change it.")


class ArtifactIn(Body):
    path: Line = about("A file.", "deploy/export.yaml")
    action: Action = Field(default="created", description="What became of it.")


class GoalIn(Body):
    """The progress stays as it is unless one of its three lists is given; then all three are replaced."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "description": "Move the billing service to the new cluster",
                "checkpoints": [{"text": "Move the nightly export to the new bucket", "status": "in-progress"}],
            }
        }
    )

    description: Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_GOAL_CHARS})] = Field(
        description="What the conversation is to reach."
    )
    priority: Annotated[str, Field(json_schema_extra={"enum": ["low", "normal", "high"]})] = Field(
        default="normal", description="How much it matters."
    )
    checkpoints: Annotated[list[StepIn], Field(max_length=core.MAX_ENTRIES)] | None = Field(
        default=None, description="Its steps."
    )
    decisions: Annotated[list[DecisionIn], Field(max_length=core.MAX_ENTRIES)] | None = Field(
        default=None, description="What was decided."
    )
    artifacts: Annotated[list[ArtifactIn], Field(max_length=core.MAX_ENTRIES)] | None = Field(
        default=None, description="Files that were touched."
    )

    @property
    def progress(self) -> core.Progress | None:
        if self.checkpoints is None and self.decisions is None and self.artifacts is None:
            return None
        return core.Progress(
            tuple(core.Step(**row.model_dump()) for row in self.checkpoints or ()),
            tuple(core.Decision(**row.model_dump()) for row in self.decisions or ()),
            tuple(core.Artifact(**row.model_dump()) for row in self.artifacts or ()),
        )


class Ending(Body):
    status: Literal["completed", "dropped"] = Field(
        default="dropped", description="Whether it was reached or given up."
    )
