"""Who is compressed: a chat, or in an agent's conversation the planner or an executor, each with its own budget."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from compression import conf
from compression.core.policy import Policy
from compression.models import Compaction
from conversations.heads import Head
from conversations.models import Conversation

FLOWS = {
    Conversation.Kind.AGENT.value: Compaction.Flow.PLANNER.value,
    Conversation.Kind.EXECUTOR.value: Compaction.Flow.EXECUTOR.value,
}
"""The flow that a kind of conversation is compressed by, where it is not the chat's."""


def flow_of(kind: str) -> str:
    return FLOWS.get(kind, Compaction.Flow.CHAT.value)


def of_all_flows(conversation: Conversation) -> QuerySet[Compaction]:
    """The compactions of a conversation, and of what was said to the executors of an agent's."""
    if conversation.kind != Conversation.Kind.AGENT:
        return Compaction.objects.filter(conversation=conversation)
    both = Conversation.objects.filter(Q(pk=conversation.pk) | Q(parent=conversation)).order_by().values("pk")
    return Compaction.objects.filter(conversation__in=both)


def policy_of(head: Head) -> Policy:
    """What holds for a conversation."""
    if head.kind == Conversation.Kind.EXECUTOR:
        return conf.executor_policy(head.policy)
    return conf.policy(head.policy, flow=flow_of(head.kind)).without_model
