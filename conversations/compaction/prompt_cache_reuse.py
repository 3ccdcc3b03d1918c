"""Asks for a summary at the end of the conversation's own request, whose beginning the provider has mostly cached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from compression.core.stages.prepare import WORDING_TOKENS
from compression.core.values import Passage, Window, total_tokens
from conversations.context import prompt
from conversations.context.transcript import Loaded
from conversations.llm.known_models import is_anthropic, is_openai
from conversations.llm.request import Prompt
from conversations.models import Message, ModelProfile
from conversations.validation import host_of

CACHING_HOSTS = (".deepseek.com", ".googleapis.com")
"""Providers other than OpenAI and Anthropic that cache the beginnings of requests."""

LATE_MESSAGES = 20
"""The number of latest messages whose cached tokens are checked."""


@dataclass(frozen=True, slots=True)
class AnsweredPrefix:
    """A conversation's request up to its last answered message, which is the beginning of its next request.

    `ids` are those of its messages, `tokens` its size by our own count.
    """

    prompt: Prompt
    ids: frozenset[str]
    tokens: int

    def holds(self, passage: Passage, *, window: Window) -> bool:
        """Whether a passage's summary can be asked for at its end: it has all the passage's messages and no summary
        to include, and there is room for the request and the summary.
        """
        if passage.merges or passage.earlier or passage.number:
            return False
        room = window.size / window.correction - self.tokens - WORDING_TOKENS - 2 * passage.max_tokens
        return room >= 0 and self.ids.issuperset(turn.id for turn in passage.turns)


def so_far(loaded: Loaded) -> AnsweredPrefix | None:
    """The beginning of the conversation's requests; None if these leave out tools' results, which a summary needs."""
    answered = replace(loaded, live=loaded.live[: len(loaded.live) - loaded.waiting], recalled=None)
    if loaded.head.elided or not answered.live:
        return None
    tokens = prompt.system_tokens(loaded.head) + loaded.head.compressed_tokens + total_tokens(answered.turns)
    return AnsweredPrefix(prompt.assemble(answered), frozenset(turn.id for turn in answered.turns), tokens)


def caches(profile: ModelProfile, conversation_id: UUID) -> bool:
    """Whether a model's provider is known to cache, or has reported cached tokens for one of the latest replies."""
    if profile.provider == ModelProfile.Provider.BUILTIN:
        return False
    host = f".{host_of(profile.base_url)}"
    if is_openai(profile.base_url) or is_anthropic(profile.base_url) or host.endswith(CACHING_HOSTS):
        return True
    replies = Message.objects.filter(conversation=conversation_id).order_by("-created_at")
    late = replies.values_list("model", "cached_tokens")[:LATE_MESSAGES]
    return any(model == profile.name and cached for model, cached in late)
