"""An agent's conversation as it is stored once a task was done, without any model having been asked."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from compression.models import Compaction
from conversations.context import transcript
from conversations.models import AgentRun, AgentStep, Conversation, Message, ToolCall
from tests.conversations.chat import START

TASK = "Add 4 and 5."


def worked(conversation: Conversation, *, at: int = 0, status: str = "done") -> AgentRun:
    """A question, a task handed over, five steps of an executor in two turns, and an answer; from minute `at` on."""
    conversation.kind = Conversation.Kind.AGENT
    conversation.save()
    thread = Conversation.objects.create(
        owner=conversation.owner, model=conversation.model, kind="executor", parent=conversation, title=TASK
    )
    run = AgentRun.objects.create(conversation=conversation, thread=thread, task=TASK, status=status, turns=2)
    say(conversation, at, "user", "What is 4 and 5, and is it prime?")
    handed = say(conversation, at + 1, "assistant", "I hand this over.")
    delegated = called(handed, "delegate_task", {"task": TASK}, "PARTIAL RESULT\n9. Prime?")
    step(run, 1, "assignment", say(thread, at + 1, "user", TASK, is_protected=True), call=delegated)
    summed = step(run, 2, "tools", say(thread, at + 2, "assistant", ""))
    called(summed.message, "calculate", {"expression": "4 + 5"}, "9")
    step(run, 3, "partial_result", say(thread, at + 3, "assistant", "PARTIAL RESULT\n9. Prime?"))
    asked = say(conversation, at + 4, "assistant", "It asks back.")
    clarified = called(asked, "continue_task", {"message": "Yes, is it?"}, "It is not prime.")
    step(run, 4, "clarification", say(thread, at + 5, "user", "Yes, is it?"), call=clarified)
    step(run, 5, "result", say(thread, at + 6, "assistant", "It is not prime."))
    say(conversation, at + 7, "assistant", "Nine, which is not prime.")
    return run


def say(conversation: Conversation, minute: int, role: str, content: str, **fields: Any) -> Message:
    return Message.objects.create(
        conversation=conversation,
        role=role,
        content=content,
        created_at=START + timedelta(minutes=minute),
        token_count=transcript.message_tokens(content),
        **fields,
    )


def called(message: Message, name: str, arguments: dict[str, Any], result: str | None, **fields: Any) -> ToolCall:
    return ToolCall.objects.create(
        message=message,
        call_id=f"call_{message.tool_calls.count() + 1}",
        name=name,
        arguments=json.dumps(arguments),
        result=result,
        created_at=message.created_at,
        duration_ms=12,
        **fields,
    )


def step(run: AgentRun, number: int, kind: str, message: Message, *, call: ToolCall | None = None) -> AgentStep:
    return AgentStep.objects.create(run=run, number=number, kind=kind, message=message, call=call)


def folded(conversation: Conversation, flow: str, **fields: Any) -> Compaction:
    return Compaction.objects.create(
        conversation=conversation, flow=flow, trigger="auto", **{"status": "succeeded"} | fields
    )
