"""Estimates a model's reliability in a conversation, and when a fresh conversation is the better choice."""

from __future__ import annotations

from dataclasses import dataclass

from compression.core.reliability import reliability, warns_after
from compression.models import Compaction
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability `share` from 0 to 1; a person is warned from `limit` compactions on."""

    share: float
    compactions: int
    limit: int

    @property
    def warns(self) -> bool:
        return self.compactions >= self.limit


def reliability_of(conversation: Conversation) -> Reliability | None:
    """The reliability of the conversation's model; None if no model is set."""
    profile = conversation.model
    if profile is None:
        return None
    rows = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    count = rows.exclude(trigger=Compaction.Trigger.EMERGENCY).count()
    share = reliability(profile.parameters_billion, is_local=profile.is_local, compactions=count)
    return Reliability(share, count, warns_after(profile.parameters_billion))
