"""Rows of agents, as their page finds them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from compression.models import Compaction
from conversations.context import transcript
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall

BEGIN = timezone.now() - timedelta(hours=1)


class Rows:
    """Messages, calls and runs of one agent, each a second after the one before."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.at = BEGIN

    def message(self, role: str, content: str = "", *, of: Conversation | None = None, **fields: Any) -> Message:
        self.at += timedelta(seconds=1)
        tokens = transcript.message_tokens(content)
        return Message.objects.create(
            conversation=of or self.conversation, role=role, content=content, token_count=tokens, created_at=self.at,
            **fields,
        )  # fmt: skip

    def call(self, message: Message, name: str, arguments: str, result: str | None = None, **fields: Any) -> ToolCall:
        return ToolCall.objects.create(
            message=message, call_id=f"c{message.tool_calls.count()}", name=name, arguments=arguments, result=result,
            created_at=message.created_at, **fields,
        )  # fmt: skip

    def run(self, task: str = "Find the port.", *, status: str = "done", **fields: Any) -> AgentRun:
        """With the planner's call and the assignment."""
        how: dict[str, Any] = {"result": "5433"} if status != "running" else {"status": "running"}
        call = self.call(self.message("assistant"), "delegate_task", f'{{"task": "{task}"}}', **how)
        thread = Conversation.objects.create(
            owner=self.conversation.owner, model=self.conversation.model, kind="executor", parent=self.conversation
        )
        ended = self.at + timedelta(seconds=9) if status in ("done", "failed", "stopped") else None
        run = AgentRun.objects.create(
            conversation=self.conversation, thread=thread, task=task, status=status, created_at=self.at,
            finished_at=ended, **fields,
        )  # fmt: skip
        self.step(run, "assignment", task, role="user", call=call)
        return run

    def step(self, run: AgentRun, kind: str, content: str = "", *, role: str = "assistant", **fields: Any) -> AgentStep:
        message = self.message(role, content, of=run.thread, model="scripted" if role == "assistant" else "")
        return AgentStep.objects.create(run=run, number=run.steps.count() + 1, kind=kind, message=message, **fields)

    def fold(self, run: AgentRun, **fields: Any) -> Compaction:
        self.at += timedelta(seconds=1)
        told = {"messages_condensed": 12, "pre_tokens": 1_240, "post_tokens": 130, "status": "succeeded"}
        return Compaction.objects.create(
            conversation=run.thread, flow="executor", trigger="auto", created_at=self.at, **(told | fields)
        )
