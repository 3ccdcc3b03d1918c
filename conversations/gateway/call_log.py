"""Records one call of the gateway: its caller, its cost, its times, and the tokens that it saved."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections

from conversations import spending
from conversations.gateway.checkpoints import State
from conversations.llm.port import ReportedTokens
from conversations.llm.probes import window_reports
from conversations.llm.windows import windows
from conversations.models import ApiKey, GatewayCall, ModelProfile
from conversations.runtime import log_context, metrics, queue

logger = logging.getLogger(__name__)

NONE, HIT, MADE = "none", "hit", "made"
"""How a call used a summary: none was used, a stored one was, or the call waited for a new one."""
MAX_NAMED = 20
"""The most options that a header names."""
GONE = 499
"""The status of a call whose caller left before the answer."""


@dataclass(slots=True)
class Call:
    """The figures of one call as they become known. Tokens are as the model counts them; times in seconds."""

    key: ApiKey | None = None
    profile: ModelProfile | None = None
    is_stream: bool = False
    left_out: tuple[str, ...] = ()
    checkpoint: str = NONE
    conversation_id: UUID | None = None
    before: int = 0
    after: int = 0
    estimated: int = 0
    """The request's tokens by our own count if all of it is text, for the correction to be learned from."""
    spent: ReportedTokens | None = None
    is_cut: bool = False
    """The answer ended at a limit of its length."""
    status: int = 200
    error: str = ""
    fallback: ModelProfile | None = None
    """The model that answered in place of the requested one."""
    began: float = field(default_factory=time.perf_counter)
    asked_at: float | None = None
    compacted_seconds: float = 0.0
    first: float | None = None

    @property
    def owner_id(self) -> int:
        assert self.key is not None, "nobody gets further without one"
        return self.key.user_id

    def uses(self, state: State | None, *, tokens: int, estimated: int) -> None:
        """Note the summary that is sent, and the size of the request with it."""
        self.after, self.estimated = tokens, estimated
        if state is not None and state.is_summary:
            self.conversation_id = state.conversation_id
            self.checkpoint = HIT if self.checkpoint == NONE else self.checkpoint

    def asking(self) -> None:
        self.asked_at = self.asked_at or time.perf_counter()

    def answered(self) -> None:
        """Note that the first words of the answer have come."""
        self.first = self.first or time.perf_counter()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that tell the caller how its history was compacted."""
        return {
            "X-Chatsite-Tokens-Before": str(self.before),
            "X-Chatsite-Tokens-After": str(self.after),
            "X-Chatsite-Checkpoint": self.checkpoint,
            "Request-Id": str(log_context.ids().get("request_id", "")),  # for Anthropic's clients, as X-Request-ID
        } | self._special_headers

    @property
    def _special_headers(self) -> dict[str, str]:
        names = ", ".join(map(_header_safe, self.left_out[:MAX_NAMED]))
        headers = {"X-Chatsite-Left-Out": names} if names else {}
        return headers | ({"X-Chatsite-Model": _header_safe(self.fallback.name)} if self.fallback else {})

    @property
    def overhead(self) -> float | None:
        """Seconds that the gateway itself took before it asked the provider, without compactions."""
        return None if self.asked_at is None else self.asked_at - self.began - self.compacted_seconds


def _header_safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "?", name, flags=re.ASCII)[:60]


def record(call: Call) -> None:
    """Count the call and store its row; a failure to store it does not affect the answer."""
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


def record_later(call: Call) -> None:
    """Record the call in the background."""
    queue.keep(asyncio.ensure_future(sync_to_async(record)(call)))


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
        spending.count(
            call.owner_id, spent.prompt + spent.completion, _cost(call), key_id=call.key.pk if call.key else None
        )
        window_reports.learn(
            call.profile, call.owner_id, thread=call.conversation_id, estimated=call.estimated, reported=spent.prompt
        )
        if call.is_cut:
            window_reports.learn_end(call.profile, prompt=spent.prompt, completion=spent.completion)
        windows.ask_if_unknown(call.profile)


def _cost(call: Call) -> Decimal | None:
    if call.profile is None or call.spent is None:
        return None
    return call.profile.cost(prompt=call.spent.prompt, cached=call.spent.cached, completion=call.spent.completion)
