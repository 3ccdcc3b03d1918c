"""One call from its beginning to its row: who calls, what it took, what it saved."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db import DatabaseError, InterfaceError, close_old_connections

from conversations.gateway.checkpoints import State
from conversations.llm.port import Spent
from conversations.llm.profiles import learn_correction
from conversations.models import ApiKey, GatewayCall, ModelProfile
from conversations.runtime import metrics

logger = logging.getLogger(__name__)

NONE, HIT, MADE = "none", "hit", "made"
"""No summary was used, one that was there, or one that this call had to wait for."""
GONE = 499
"""The caller went away before it had its answer."""


@dataclass(slots=True)
class Call:
    """Figures of one call as they become known. Tokens are as the model counts them; times in seconds."""

    key: ApiKey | None = None
    profile: ModelProfile | None = None
    is_stream: bool = False
    checkpoint: str = NONE
    conversation_id: UUID | None = None
    before: int = 0
    after: int = 0
    estimated: int = 0
    """By our own count, of what is all text: what the provider reports of it is learned from."""
    spent: Spent | None = None
    status: int = 200
    error: str = ""
    began: float = field(default_factory=time.perf_counter)
    asked_at: float | None = None
    folded: float = 0.0
    first: float | None = None

    @property
    def owner_id(self) -> int:
        assert self.key is not None, "nobody gets further without one"
        return self.key.user_id

    def uses(self, state: State | None, *, tokens: int, estimated: int) -> None:
        """The summary that is sent, and what the request comes to with it."""
        self.after, self.estimated = tokens, estimated
        if state is not None and state.is_summary:
            self.conversation_id = state.conversation_id
            self.checkpoint = HIT if self.checkpoint == NONE else self.checkpoint

    def asking(self) -> None:
        self.asked_at = self.asked_at or time.perf_counter()

    def answered(self) -> None:
        """The first words have come."""
        self.first = self.first or time.perf_counter()

    @property
    def headers(self) -> dict[str, str]:
        """What the caller is told about what was done to its history."""
        return {
            "X-Chatsite-Tokens-Before": str(self.before),
            "X-Chatsite-Tokens-After": str(self.after),
            "X-Chatsite-Checkpoint": self.checkpoint,
        }

    @property
    def overhead(self) -> float | None:
        """What was done here before the provider was asked, compactions apart."""
        return None if self.asked_at is None else self.asked_at - self.began - self.folded


def record(call: Call) -> None:
    """Count the call, and store its row; a call that cannot be recorded was answered all the same."""
    if call.key is None or call.profile is None:
        return  # it was not understood, or asked for nothing that costs
    ended = time.perf_counter()
    model = call.profile.name
    metrics.gateway_calls.labels(model, str(call.status), call.checkpoint).inc()
    metrics.gateway_saved.inc(max(0, call.before - call.after))
    if call.overhead is not None:
        metrics.gateway_seconds.observe(call.overhead)
    try:
        close_old_connections()
        _store(call, model, ended)
    except (DatabaseError, InterfaceError):
        logger.exception("a call of the gateway could not be recorded")


def _store(call: Call, model: str, ended: float) -> None:
    spent = call.spent
    GatewayCall.objects.create(
        owner_id=call.owner_id,
        key=call.key,
        conversation_id=call.conversation_id,
        model=model,
        is_stream=call.is_stream,
        status=call.status,
        error=call.error,
        tokens_before=call.before,
        tokens_after=call.after,
        is_hit=call.checkpoint == HIT,
        is_compacted=call.checkpoint == MADE,
        prompt_tokens=spent.prompt if spent else None,
        completion_tokens=spent.completion if spent else None,
        cached_tokens=spent.cached if spent else None,
        cost_usd=_cost(call),
        first_token_ms=None if call.first is None else round(1000 * (call.first - call.began)),
        duration_ms=round(1000 * (ended - call.began)),
    )
    if call.profile and spent:
        learn_correction(call.profile, call.owner_id, estimated=call.estimated, reported=spent.prompt)


def _cost(call: Call) -> Decimal | None:
    if call.profile is None or call.spent is None:
        return None
    return call.profile.cost(prompt=call.spent.prompt, cached=call.spent.cached, completion=call.spent.completion)
