"""Measures how full a conversation's window is."""

from __future__ import annotations

import contextlib
from typing import Any
from uuid import UUID

from compression.core.values import FlowUsage, Usage
from conversations.context import prompt
from conversations.context.policy import flow_of, policy_of
from conversations.context.transcript import Loaded
from conversations.memory import recall
from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.events import hub, publish
from conversations.runtime.payloads import usage_json


def usage_of_conversation(conversation: Conversation) -> Usage | None:
    """The tokens of the conversation's next request by part; None if no model is set."""
    return usage_of(recall.load(conversation.pk))


def usage_of(loaded: Loaded) -> Usage | None:
    """The tokens of a loaded conversation's next request by part; None if no model is set."""
    return loaded.usage(system_tokens=prompt.system_tokens(loaded.head))


def total(conversation_id: UUID) -> int | None:
    """Tokens of the next request, as the meter shows them; None without a model."""
    used = usage_of(recall.load(conversation_id))
    return used.total if used else None


def flow_usage(loaded: Loaded) -> FlowUsage | None:
    """An agent's use of its flow's own budget; None for a chat or if no model is set."""
    policy, usage = policy_of(loaded.head), usage_of(loaded)
    if usage is None or policy.history_tokens is None:
        return None
    return FlowUsage(flow_of(loaded.head.kind), policy.history(usage), policy.history_tokens)


def publish_usage(conversation_id: UUID) -> None:
    """Send the present usage to the conversation's listeners."""
    if not hub.is_heard(conversation_id):
        return
    with contextlib.suppress(Conversation.DoesNotExist):  # it may have been deleted
        if usage := usage_of(recall.load(conversation_id)):
            publish(conversation_id, EventType.USAGE_UPDATED, **usage_json(usage))


def too_large(usage: Usage) -> str:
    """The message for a request that exceeds the window's budget, with its tokens by part."""
    window = usage.window
    return (
        f"This does not fit the model's context window: {usage.total:,} tokens "
        f"(system {usage.system:,}, summary {usage.summary:,}, protected {usage.protected:,}, live {usage.live:,}) "
        f"of the {window.budget:,} that can be sent."
    )


def too_large_detail(usage: Usage) -> dict[str, Any]:
    """The figures of a request that exceeds the window's budget, for an error's detail."""
    return {
        "system": usage.system,
        "summary": usage.summary,
        "protected": usage.protected,
        "live": usage.live,
        "total": usage.total,
        "budget": usage.window.budget,
        "window": usage.window.size,
    }
