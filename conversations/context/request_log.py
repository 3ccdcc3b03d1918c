"""What each reply was asked with, noted as references and digests; `conversations.replays` puts it together again.

Messages and summaries never change, so a request is told by which of them it was made of. The hash of what was sent
says whether they make the same request still.
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
from conversations.context import prompt, recall
from conversations.context.transcript import Loaded
from conversations.context.usage import measured
from conversations.llm import tools
from conversations.llm.port import Spent
from conversations.llm.profiles import passes_tools, reply_limit
from conversations.llm.request import Prompt
from conversations.llm.tools import as_functions
from conversations.models import ModelProfile, Wording

VERSION = 1
TOKENS = ("system", "summary", "recalled", "protected", "live")
"""Kinds of parts whose tokens are noted; `recalled` is missing of what was asked before there was any."""
MAX_DOLLARS = Decimal(999_999)
"""That a row can hold: figures that a provider made up cost more."""
REMEMBERED = 10_000
"""System prompts that this process knows to be stored."""

_stored: set[tuple[UUID, str]] = set()


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way: what it was made of, and to whom it goes. Kept until its reply has ended."""

    loaded: Loaded
    prompt: Prompt
    profile: ModelProfile

    @property
    def estimated(self) -> int:
        """Its tokens by our own count, less the tools that its server does not take; 0 where it has images, of which
        that is a guess."""
        head = self.loaded.head
        if any(turn.images for turn in self.loaded.turns):
            return 0
        unheard = tools.tokens(head.tools) if head.tools and not passes_tools(self.profile, self.prompt) else 0
        quoted = self.loaded.recalled.tokens if self.loaded.recalled else 0
        return prompt.system_tokens(head) - unheard + head.compressed_tokens + quoted + total_tokens(self.loaded.turns)

    @property
    def used(self) -> int:
        """What it takes of its model's window, as that is measured."""
        usage = measured(self.loaded)
        return usage.total if usage else 0


@dataclass(frozen=True, slots=True)
class Represented:
    """What a summary that was sent consists of, and the tokens of the messages that it stands for."""

    numbers: tuple[int, ...] = ()
    tokens: int = 0


def note(sent: Sent) -> dict[str, Any]:
    """The columns of a reply that say what it was asked with; the text of its system prompt is stored where it is new.

    A query more where a process first sees a summary or a system prompt. The rest is work of the CPU.
    """
    head, window, usage = sent.loaded.head, sent.loaded.head.window, measured(sent.loaded)
    assert window and usage, "nothing is sent without a model"
    context = head.compressed_context
    stood_for = _represented(head.id, context) if context is not None else Represented()
    request = {
        "v": VERSION,
        "model": sent.profile.model_id,
        "max_tokens": reply_limit(sent.profile, used=sent.used),
        "system": _keep(head.id, sent.prompt.messages[0]["content"]),
        "tools": _keep(head.id, json.dumps(as_functions(head.tools))) if head.tools else None,
        "may_call": sent.prompt.may_call,
        "role": sent.prompt.messages[1]["role"] if context is not None else None,
        "checkpoints": stood_for and list(stood_for.numbers),
        **_messages_of(sent.loaded),
        "images": head.can_see and any(turn.images for turn in sent.loaded.turns),
        "limit": settings.TOOL_RESULT_MAX_CHARS,
        "tokens": {name: getattr(usage, name) for name in TOKENS},
        "window": window.size,
        "budget": window.budget,
        "correction": window.correction,
        "hash": digest(sent.prompt.messages),
        **({"recalled": recall.noted(sent.loaded.recalled)} if sent.loaded.recalled else {}),
        **({} if sent.profile.sends_as_is else {"template": sent.profile.chat_template}),
    }
    saved = window.corrected(stood_for.tokens) - usage.summary if stood_for else 0
    return {"request": request, "saved_tokens": max(0, saved)}


def paid(profile: ModelProfile, spent: Spent | None) -> dict[str, Any]:
    """The columns of a reply that say who was asked, and what it took as its provider reported it."""
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


def digest(messages: object) -> str:
    """SHA-256 (hex) of messages as canonical JSON: keys in order, no blanks, ASCII alone."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 (hex) of a text, which its `Wording` is known by."""
    return hashlib.sha256(text.encode()).hexdigest()


def _messages_of(loaded: Loaded) -> dict[str, Any]:
    """Which messages were sent: those `kept` from before the cut, and the history in (`after`, `up_to`]."""
    head, turns = loaded.head, loaded.turns
    return {
        "kept": [turn.id for turn in loaded.kept],
        "after": head.compressed_at and head.compressed_at.isoformat(),
        "up_to": loaded.live[-1].created_at.isoformat() if loaded.live else None,
        "count": len(turns),
        "protected": [turn.id for turn in turns if turn.protected],
        "elided": {turn.id: turn.tokens for turn in turns if turn.elided},
    }


def _keep(conversation_id: UUID, text: str) -> str:
    """The digest of a system prompt, or of the definitions of tools, whose text is stored once."""
    key = conversation_id, text_digest(text)
    if key not in _stored:
        row = Wording(conversation_id=conversation_id, digest=key[1], text=text)
        with suppress(IntegrityError):  # the conversation was deleted meanwhile
            Wording.objects.bulk_create([row], ignore_conflicts=True)
        if len(_stored) >= REMEMBERED:
            _stored.clear()
        _stored.add(key)
    return key[1]


@lru_cache(maxsize=1_024)
def _represented(conversation_id: UUID, context: str) -> Represented | None:
    """None where it is the rendering of no known state.

    A compaction may have ended since it was sent: then the state of before is in the snapshot that was taken of it.
    """
    found = active_checkpoints(conversation_id)
    if render_context(found) != context:
        left = Snapshot.objects.filter(conversation_id=conversation_id, compressed_context=context)
        ids = left.order_by("-created_at").values_list("checkpoint_ids", flat=True).first()
        rows = Checkpoint.objects.filter(conversation_id=conversation_id, pk__in=ids or ())
        found = tuple(value_of(row) for row in rows.order_by("last_message_at", "number"))
    if render_context(found) != context:
        return None
    return Represented(tuple(one.number for one in found), sum(one.original_tokens for one in found))
