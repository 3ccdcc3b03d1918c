"""Holds the scope of a running reply's tool calls: its lease, its toolbox and its budget of requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from compression.leases import expiry
from conversations.agents.tools.toolbox import Toolbox
from conversations.agents.turn_thoughts import TurnThoughts
from conversations.llm.tools import ToolFailed
from conversations.messages import reply_lease
from conversations.runtime.lease import LeaseLost

MAX_REPLY_REQUESTS = 25
"""The most requests to one model in a row; the last one must be answered without calling a tool."""
MAX_TURN_REQUESTS = 100
"""The most requests to all models in one turn, which bounds the cost of a loop."""


@dataclass(slots=True)
class Work:
    """The work for a running reply. `token` is the reply's lease; `requests` counts the whole turn's requests."""

    conversation_id: UUID
    token: UUID
    toolbox: Toolbox
    reply_id: UUID | None = None
    requests: int = 0
    thoughts: TurnThoughts = field(default_factory=TurnThoughts)

    @property
    def may_ask(self) -> bool:
        """Whether this turn has requests left, not counting the one that ends it."""
        return self.requests < MAX_TURN_REQUESTS

    def hold(self) -> None:
        """Renew the lease; called first in a transaction whose writes need it. Raises LeaseLost."""
        if self.reply_id is None:
            raise LeaseLost
        reply_lease.in_order(self.reply_id)
        if not reply_lease.held(self.reply_id, self.token).update(lease_expires_at=expiry()):
            raise LeaseLost

    def ask(self) -> None:
        """Count one more request. Raises ToolFailed if the turn has used all of its requests."""
        if not self.may_ask:
            raise ToolFailed(f"This turn has used its {MAX_TURN_REQUESTS} requests to models.")
        self.requests += 1
