"""Records the request of each reply as references and digests; `conversations.requests.replay` reconstructs it.

Messages and summaries never change, so references to them are enough. A hash of the sent messages shows whether the
reconstruction is exact.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from compression.core.context import render_context
from compression.core.values import total_tokens
from compression.models import Checkpoint, Snapshot
from compression.records import active_checkpoints, value_of
from conversations import spending
from conversations.context import prompt
from conversations.context.transcript import Loaded
from conversations.llm import tools
from conversations.llm.port import ReportedTokens
from conversations.llm.profiles import passes_tools, reply_limit
from conversations.llm.request import Prompt
from conversations.llm.tools import as_functions
from conversations.memory import recall
from conversations.models import Errand, ModelProfile, Wording
from conversations.requests.usage import usage_of
from conversations.runtime.bounded_cache import BoundedCache

VERSION = 1
TOKENS = ("system", "summary", "recalled", "protected", "live")
"""Kinds of parts whose tokens are noted; `recalled` is missing of what was asked before there was any."""
MAX_DOLLARS = Decimal(999_999)
"""The largest cost that a row can hold; only implausible figures of a provider exceed it."""
MAX_STORED_PROMPTS = 10_000
"""The most entries of `_stored`, the prompts that this process knows to be stored."""

_stored: BoundedCache[tuple[UUID, str], None] = BoundedCache(MAX_STORED_PROMPTS)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was sent, with the loaded conversation and the profile; kept until its reply has ended."""

    loaded: Loaded
    prompt: Prompt
    profile: ModelProfile

    @property
    def estimated(self) -> int:
        """The request's tokens by our count, without tools that its server refuses.

        0 for a request with images, or with thoughts that went back, whose tokens could only be guessed.
        """
        head = self.loaded.head
        if any(turn.images for turn in self.loaded.turns) or self.prompt.thoughts:
            return 0
        unheard = tools.tokens(head.tools) if head.tools and not passes_tools(self.profile, self.prompt) else 0
        quoted = self.loaded.recalled.tokens if self.loaded.recalled else 0
        return prompt.system_tokens(head) - unheard + head.compressed_tokens + quoted + total_tokens(self.loaded.turns)

    @property
    def used(self) -> int:
        """The tokens of the request as usage measures them; 0 if no model is set."""
        usage = usage_of(self.loaded)
        return usage.total if usage else 0


@dataclass(frozen=True, slots=True)
class SummaryCoverage:
    """The numbers of the checkpoints in a sent summary, and the tokens of the messages that they cover."""

    numbers: tuple[int, ...] = ()
    tokens: int = 0


def as_columns(sent: SentRequest) -> dict[str, Any]:
    """The columns of a reply that record its request; a new system prompt is stored.

    One extra query the first time this process sees a summary or a system prompt.
    """
    head, window, usage = sent.loaded.head, sent.loaded.head.window, usage_of(sent.loaded)
    assert window and usage, "nothing is sent without a model"
    context = head.compressed_context
    represented = _represented(head.id, context) if context is not None else SummaryCoverage()
    request = {
        "v": VERSION,
        "model": sent.profile.model_id,
        "max_tokens": reply_limit(sent.profile, used=sent.used),
        "system": _keep(head.id, sent.prompt.messages[0]["content"]),
        "tools": _keep(head.id, json.dumps(as_functions(head.tools))) if head.tools else None,
        "may_call": sent.prompt.may_call,
        "role": sent.prompt.messages[1]["role"] if context is not None else None,
        "checkpoints": represented and list(represented.numbers),
        **_messages_of(sent.loaded),
        "images": head.can_see and any(turn.images for turn in sent.loaded.turns),
        "limit": settings.TOOL_RESULT_MAX_CHARS,
        "tokens": {name: getattr(usage, name) for name in TOKENS},
        "window": window.size,
        "budget": window.budget,
        "correction": window.correction,
        "hash": digest(sent.prompt.messages),
        **({"recalled": recall.noted(sent.loaded.recalled)} if sent.loaded.recalled else {}),
        **({"thoughts": len(sent.prompt.thoughts)} if sent.prompt.thoughts else {}),
        **({} if sent.profile.sends_as_is else {"template": sent.profile.chat_template}),
    }
    saved = window.corrected(represented.tokens) - usage.summary - usage.recalled if represented else 0
    return {"request": request, "saved_tokens": saved}


def spending_columns(profile: ModelProfile, spent: ReportedTokens | None) -> dict[str, Any]:
    """The columns of a reply with its model, tokens and cost as the provider reported them."""
    if spent is None:
        return {"model": profile.name}
    cost = profile.cost(prompt=spent.prompt, cached=spent.cached, completion=spent.completion)
    return {
        "model": profile.name,
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "cached_tokens": spent.cached,
        "cost_usd": None if cost is None else min(cost, MAX_DOLLARS),
    }


def record_errand(owner_id: int, purpose: str, profile: ModelProfile, spent: ReportedTokens | None) -> None:
    """Store and count a request that the site sent by itself; nothing if the account was deleted meanwhile."""
    columns = spending_columns(profile, spent)
    with suppress(IntegrityError):
        Errand.objects.create(owner_id=owner_id, purpose=purpose, **columns)
        if spent:
            spending.count(owner_id, spent.prompt + spent.completion, columns["cost_usd"])


def digest(messages: object) -> str:
    """SHA-256 (hex) of messages as canonical JSON: sorted keys, no blanks, ASCII only."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 (hex) of a text, which its `Wording` is known by."""
    return hashlib.sha256(text.encode()).hexdigest()


def _messages_of(loaded: Loaded) -> dict[str, Any]:
    """References to the sent messages: those `kept` from before the cut, and the history in (`after`, `up_to`]."""
    head, turns = loaded.head, loaded.turns
    return {
        "kept": [turn.id for turn in loaded.kept],
        "after": head.compressed_at and head.compressed_at.isoformat(),
        "up_to": loaded.live[-1].created_at.isoformat() if loaded.live else None,
        "count": len(turns),
        "protected": [turn.id for turn in turns if turn.protected],
        "elided": {turn.id: [turn.tokens, turn.number, turn.excerpt] for turn in turns if turn.elided},
    }


def _keep(conversation_id: UUID, text: str) -> str:
    """The digest of a system prompt, or of the definitions of tools, whose text is stored once."""
    key = conversation_id, text_digest(text)
    if key not in _stored:
        row = Wording(conversation_id=conversation_id, digest=key[1], text=text)
        with suppress(IntegrityError):  # the conversation was deleted meanwhile
            Wording.objects.bulk_create([row], ignore_conflicts=True)
        _stored.put(key, None)
    return key[1]


@lru_cache(maxsize=1_024)
def _represented(conversation_id: UUID, context: str) -> SummaryCoverage | None:
    """The checkpoints that the compressed context renders; None if it renders no known state.

    If a compaction has ended since the request was sent, its snapshot has the state of then.
    """
    checkpoints = active_checkpoints(conversation_id)
    if render_context(checkpoints) != context:
        snapshots = Snapshot.objects.filter(conversation_id=conversation_id, compressed_context=context)
        ids = snapshots.order_by("-created_at").values_list("checkpoint_ids", flat=True).first()
        rows = Checkpoint.objects.filter(conversation_id=conversation_id, pk__in=ids or ())
        checkpoints = tuple(value_of(row) for row in rows.order_by("last_message_at", "number"))
    if render_context(checkpoints) != context:
        return None
    return SummaryCoverage(
        tuple(checkpoint.number for checkpoint in checkpoints),
        sum(checkpoint.original_tokens for checkpoint in checkpoints),
    )
