"""A conversation's compression policy: checks a person's values, and resolves them with settings and flow."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from compression import conf
from compression.core.extractive.summariser import Extractive
from compression.core.plan.policy import Policy
from compression.models import Compaction
from conversations.context.economy import ECONOMY, economical, prices_of
from conversations.context.head import Head
from conversations.errors import Invalid
from conversations.llm.profiles import named, open_to
from conversations.models import Conversation
from conversations.validation import POLICY, clean_policy

FLOWS = {
    Conversation.Kind.AGENT.value: Compaction.Flow.PLANNER.value,
    Conversation.Kind.EXECUTOR.value: Compaction.Flow.EXECUTOR.value,
}
"""The flow of each kind of conversation that does not use the chat's."""


def checked_policy(values: object, *, field: str = "policy", person_id: int | None = None) -> dict[str, Any]:
    """The policy's values without nulls. Raises Invalid, naming a value that is invalid or does not fit the site.

    Its summariser may be any model, or with a `person_id` one that this person may use.
    """
    if isinstance(values, dict):
        values = {key: value for key, value in values.items() if value is not None or key not in POLICY}
    policy = clean_policy(field, values)
    _require_target(field, policy)
    name = policy.get("summariser", "")
    if name not in ("", Extractive.name) and not named(name, open_to(person_id) if person_id else None):
        place = f"{field}.summariser"
        raise Invalid(f"{place}: there is no model called {name!r}; {Extractive.name!r} is none.", field=place)
    return policy


def _require_target(field: str, policy: dict[str, Any]) -> None:
    """Raise Invalid if the target is not below the threshold: each compaction would trigger the next at once."""
    resolved = conf.policy(policy)
    if "target_ratio" in policy and resolved.target_ratio >= resolved.full_at:
        place = f"{field}.target_ratio"
        raise Invalid(f"{place}: must be below the threshold, which is {resolved.full_at:g}.", field=place)


def flow_of(kind: str) -> str:
    """The compression flow of a kind of conversation."""
    return FLOWS.get(kind, Compaction.Flow.CHAT.value)


def compactions_of_all_flows(conversation: Conversation) -> QuerySet[Compaction]:
    """The compactions of a conversation and, for an agent's, of its executors' conversations."""
    if conversation.kind != Conversation.Kind.AGENT:
        return Compaction.objects.filter(conversation=conversation)
    both = Conversation.objects.filter(Q(pk=conversation.pk) | Q(parent=conversation)).order_by().values("pk")
    return Compaction.objects.filter(conversation__in=both)


def policy_of(head: Head) -> Policy:
    """The policy in force for a conversation."""
    if head.kind == Conversation.Kind.EXECUTOR:
        return conf.executor_policy(head.policy)
    policy = conf.policy(head.policy, flow=flow_of(head.kind)).without_model
    if head.policy.get("preset") != ECONOMY or "max_live_tokens" in head.policy:
        return policy
    return economical(policy, prices_of(head), head.window)
