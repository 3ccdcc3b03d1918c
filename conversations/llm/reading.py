"""What has come of one streamed reply, chunk by chunk; a stream that is no reply is told from one that is."""

from __future__ import annotations

from typing import Any

from conversations.llm.base import BrokenReply, Delta, Spent

MOST_TOKENS = 2**31 - 1
"""The largest figure that a row can hold; no request comes near it."""


class Reading:
    """One reply in the making. `finish_reason` is None until the provider has said that it is whole."""

    def __init__(self, name: str) -> None:
        self.finish_reason: str | None = None
        self._name = name
        self._spent: Spent | None = None
        self._something = False
        self._refused = False

    def take(self, chunk: dict[str, Any]) -> str:
        """The text that a chunk of a streamed chat completion adds; anything else than one raises some error."""
        self._spent = spent_of(chunk.get("usage")) or self._spent
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta") or {}
        refusal = str(delta.get("refusal") or "")
        self._refused = self._refused or bool(refusal)
        text = str(delta.get("content") or "") + refusal
        self._something = self._something or bool(text) or bool(delta.get("tool_calls"))
        return text

    def end(self) -> Delta:
        """The last delta. Raises BrokenReply where nothing came, or the stream stopped without a reason."""
        filtered = self.finish_reason == "content_filter"
        if self.finish_reason is None:
            fault = "ended in the middle" if self._something else "was no reply"
            raise BrokenReply(f"{self._name}: what the provider sent {fault}. Try again.")
        if not self._something and self.finish_reason == "length":
            raise BrokenReply(
                f"{self._name} used all its tokens before it wrote anything, as reasoning models can. "
                "Raise the profile's maximum of reply tokens, or use another model.",
                retryable=False,
            )
        if not self._something and not filtered:
            raise BrokenReply(f"{self._name} sent an empty reply. Try again.")
        return Delta(finish_reason=self.finish_reason, spent=self._spent, refused=self._refused or filtered)


def spent_of(usage: Any) -> Spent | None:
    """The tokens that a provider reports, or None where its figures cannot be true."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = _plausible(usage.get("prompt_tokens")), _plausible(usage.get("completion_tokens"))
    if not prompt or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = (_plausible(details.get("cached_tokens")) if isinstance(details, dict) else None) or 0
    return Spent(prompt, completion, cached if cached <= prompt else 0)


def _plausible(tokens: Any) -> int | None:
    return tokens if type(tokens) is int and 0 <= tokens <= MOST_TOKENS else None
