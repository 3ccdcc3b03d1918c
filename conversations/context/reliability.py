"""How far the model can be trusted with a conversation, and when a fresh one is the better way to go on."""

from __future__ import annotations

from dataclasses import dataclass

from compression.core.reliability import reliability, warns_after
from compression.models import Compaction
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Trust:
    """`share` is from 0 to 1; `limit` is the number of compactions from which on a person is warned."""

    share: float
    compactions: int
    limit: int

    @property
    def warns(self) -> bool:
        return self.compactions >= self.limit


def trust_of(conversation: Conversation) -> Trust | None:
    """None where no model is set."""
    profile = conversation.model
    if profile is None:
        return None
    rows = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.SUCCEEDED)
    count = rows.exclude(trigger=Compaction.Trigger.EMERGENCY).count()
    share = reliability(profile.parameters_billion, is_local=profile.is_local, compactions=count)
    return Trust(share, count, warns_after(profile.parameters_billion))
