"""A reply in the making for which tools are called: whose it is, and how much it may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from compression.leases import expiry
from conversations.agents.tools.toolbox import Toolbox
from conversations.llm.tools import ToolFailed
from conversations.messages import reply_lease
from conversations.runtime.lease import LeaseLost

MAX_REPLY_REQUESTS = 25
"""To a model, until it has to answer without calling a tool."""
MAX_TURN_REQUESTS = 100
"""To all models in one turn: what a loop may cost."""


@dataclass(slots=True)
class Work:
    """`token` says that the reply is ours to write, and all that is done for it; `requests` counts the whole turn's."""

    conversation_id: UUID
    token: UUID
    belt: Toolbox
    reply_id: UUID | None = None
    requests: int = 0

    @property
    def may_ask(self) -> bool:
        """Whether there can be further requests in this turn, but for the one that ends it."""
        return self.requests < MAX_TURN_REQUESTS

    def hold(self) -> None:
        """Keep the lease, within a transaction: what is written in that is ours to write. Raises LeaseLost."""
        if self.reply_id is None:
            raise LeaseLost
        reply_lease.in_order(self.reply_id)
        if not reply_lease.held(self.reply_id, self.token).update(lease_expires_at=expiry()):
            raise LeaseLost

    def ask(self) -> None:
        """One request more. Raises ToolFailed where too many were made for one reply."""
        if not self.may_ask:
            raise ToolFailed(f"This turn has used its {MAX_TURN_REQUESTS} requests to models.")
        self.requests += 1
