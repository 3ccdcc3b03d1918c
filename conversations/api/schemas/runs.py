"""Tasks that a planner handed to executors."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from conversations.api.schemas.compactions import Compaction
from conversations.api.schemas.fields import Tokens, about
from conversations.api.schemas.messages import Spent, ToolCall

TASK = "Find out which port billing listens on. The service's files are in deploy/billing."


class Run(BaseModel):
    """Planner and executor talk in a conversation of its own. It can be read, and only they write in it."""

    id: UUID = about("Its id.", "0199b3c2-a001-7c1e-8f00-5b1d2c3e4f50")
    thread_id: UUID = about("Id of the conversation of planner and executor.", "0199b3c2-a002-7c1e-8f00-5b1d2c3e4f51")
    task: str = about("The executor's task.", TASK)
    status: Literal["running", "waiting", "done", "stopped", "failed"] = about(
        "`waiting`: the executor gave a partial result, and needs an answer of the planner.", "done"
    )
    turns: int = about("How often the planner has spoken; at most 10 times.", 1, ge=1)
    error: str | None = about("Why it failed; null where it did not.", None)
    created_at: datetime = about("When the task was handed over.", "2026-11-20T09:12:41+00:00")
    finished_at: datetime | None = about("When it ended; null: it has not.", "2026-11-20T09:12:58+00:00")


class RunPage(BaseModel):
    items: list[Run] = about("The latest first.")
    next: str | None = about("The `cursor` of the next page; null: this is the last.", None)


class RunStep(BaseModel):
    """One message between planner and executor."""

    number: int = about("From 1, in order.", 2, ge=1)
    kind: Literal["assignment", "clarification", "tools", "partial_result", "result"] = about(
        "`assignment` and `clarification` are the planner's, the others the executor's; `tools`: it called some.",
        "tools",
    )
    message_id: UUID = about("Id of the message.", "0199b3c2-a003-7c1e-8f00-5b1d2c3e4f52")
    content: str = about("Its text; may be empty where tools are called.", "")
    tool_calls: list[ToolCall] = about("Calls that it makes, with their results.")
    token_count: Tokens = about("Tokens that it takes in a request, as its model counts them.", 45)
    usage: Spent
    created_at: datetime = about("When it was written.", "2026-11-20T09:12:44+00:00")


class FlowUsage(BaseModel):
    """How much of a budget of its own an agent uses."""

    flow: Literal["planner", "executor"] = about("Who it is.", "executor")
    history: Tokens = about("Tokens of history in the next request, the summary among them.", 212)
    budget: Tokens = about("How many there may be before they are compacted.", 600)
    percent: int = about("The first over the second.", 35, ge=0)


class WholeRun(Run):
    steps: list[RunStep] = about("All of them, in order.")
    usage: FlowUsage | None = about("Of the executor; null where no model is set.")
    compactions: list[Compaction] = about("Of what the executor is sent, the latest first; at most 200.", [])
