"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio, LiteLLM …"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from conversations.agents.tools.spec import as_functions
from conversations.llm.base import Spent
from conversations.llm.calls import text_of
from conversations.llm.known import OPENAI_URL, is_openai
from conversations.llm.provider import Provider
from conversations.llm.reading import Reading, plausible
from conversations.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Options:
    """Which options a server takes, and by which name."""

    reports_usage: bool = True
    limit: str = "max_tokens"

    def options(self, max_tokens: int | None) -> dict[str, Any]:
        usage = {"stream_options": {"include_usage": True}} if self.reports_usage else {}
        return usage | ({self.limit: max_tokens} if max_tokens else {})

    def corrected(self, complaint: str) -> Options | None:
        if self.reports_usage and "stream_options" in complaint:
            return replace(self, reports_usage=False)
        if "max_tokens" in complaint or "max_completion_tokens" in complaint:
            other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
            return replace(self, limit=other)
        return None


class Chunks(Reading):
    """The chunks of a streamed chat completion."""

    def take(self, event: dict[str, Any]) -> str:
        self.spent = spent_of(event.get("usage")) or self.spent
        if not event.get("choices"):
            return ""
        choice = event["choices"][0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta") or {}
        refusal = str(delta.get("refusal") or "")
        self.refused = self.refused or bool(refusal)
        text = str(delta.get("content") or "") + refusal
        self.something = self.something or bool(text)
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            self._call(piece, position)
        return text

    def _call(self, piece: dict[str, Any], position: int) -> None:
        """A piece of a call, which a server that does not number them sends by its place among the others."""
        index, function = piece.get("index"), piece.get("function") or {}
        self.calls.take(
            index if isinstance(index, int) else position,
            id=str(piece.get("id") or ""),
            name=str(function.get("name") or ""),
            arguments=text_of(function.get("arguments")),
        )


class OpenAICompatible(Provider):
    """A model behind an OpenAI-compatible address."""

    library = "openai"
    path = "/chat/completions"
    models_path = "/models"
    home = OPENAI_URL
    key_setting = "OPENAI_API_KEY"
    reading = Chunks

    def body(self, prompt: Prompt, *, recurs: bool) -> dict[str, Any]:
        messages = {"messages": list(prompt.messages)}
        if not prompt.tools:
            return messages
        choice = {} if prompt.may_call else {"tool_choice": "none"}
        return messages | {"tools": as_functions(prompt.tools)} | choice

    def first_dialect(self) -> Options:
        return Options()

    def is_home(self) -> bool:
        return is_openai(self._asked.base_url)


def spent_of(usage: Any) -> Spent | None:
    """The tokens that a server reports, or None where its figures cannot be true."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = plausible(usage.get("prompt_tokens")), plausible(usage.get("completion_tokens"))
    if not prompt or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = (plausible(details.get("cached_tokens")) if isinstance(details, dict) else None) or 0
    return Spent(prompt, completion, cached if cached <= prompt else 0)
