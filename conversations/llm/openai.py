"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio, LiteLLM …"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from conversations.llm import chat_templates
from conversations.llm.known_models import OPENAI_URL, is_openai
from conversations.llm.port import Spent
from conversations.llm.provider import Provider
from conversations.llm.request import Prompt
from conversations.llm.stream_reader import Reading, plausible
from conversations.llm.tool_call_chunks import is_whole, object_of, text_of
from conversations.llm.tool_naming import fitting
from conversations.llm.tools import as_functions


@dataclass(frozen=True, slots=True)
class Options:
    """Which options a server takes, and by which name."""

    reports_usage: bool = True
    limit: str = "max_tokens"

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        usage = {"stream_options": {"include_usage": True}} if self.reports_usage else {}
        return usage | ({self.limit: max_tokens} if max_tokens else {})

    def corrected(self, complaint: str) -> Options | None:
        if self.reports_usage and "stream_options" in complaint:
            return replace(self, reports_usage=False)
        if "max_tokens" in complaint or "max_completion_tokens" in complaint:
            other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
            return replace(self, limit=other)
        return None


FINISH_REASONS = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "refusal": "content_filter",
    "abort": "aborted",
    "error": "aborted",
    "insufficient_system_resource": "aborted",
}
"""Other servers' words for OpenAI's, in lower case: Mistral's, Gemini's, vLLM's, OpenRouter's, DeepSeek's."""


class Chunks(Reading):
    """The chunks of a streamed chat completion."""

    @staticmethod
    def is_news(event: Any) -> bool:
        """Not of an empty chunk, as some send while nothing comes; thoughts are told in fields of many names."""
        choices = event.get("choices") if isinstance(event, dict) else None
        if not choices or not isinstance(choices[0], dict):
            return bool(isinstance(event, dict) and event.get("usage"))
        delta = choices[0].get("delta")
        said = delta.items() if isinstance(delta, dict) else ()
        return bool(choices[0].get("finish_reason")) or any(value for name, value in said if name != "role")

    def take(self, event: dict[str, Any]) -> str:
        self.spent = spent_of(event.get("usage")) or self.spent
        if not event.get("choices"):
            return ""
        choice = event["choices"][0]
        reason = choice.get("finish_reason")
        self.finish_reason = FINISH_REASONS.get(str(reason).lower(), reason) or self.finish_reason
        delta = choice.get("delta") or {}
        refusal = str(delta.get("refusal") or "")
        self.refused = self.refused or bool(refusal)
        text = str(delta.get("content") or "") + refusal
        self.something = self.something or bool(text)
        pieces = [piece for piece in delta.get("tool_calls") or () if isinstance(piece, dict)]
        for position, piece in enumerate(pieces):
            self._call(piece, position if len(pieces) > 1 else None)
        return text

    def _call(self, piece: dict[str, Any], position: int | None) -> None:
        """A piece of a call: at the place that it names, or at its own among several."""
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
        messages = {"messages": [_taken(message) for message in prompt.messages]}
        if not prompt.tools:
            return messages
        tools = [replace(one, name=fitting(one.name)) for one in prompt.tools]
        choice = {} if prompt.may_call else {"tool_choice": "none"}
        return messages | {"tools": as_functions(tuple(tools))} | choice

    def shaped(self, body: dict[str, Any], template: str) -> dict[str, Any]:
        return body | {"messages": chat_templates.shaped(body["messages"], template)}

    def _stricter(self, template: str, complaint: str, body: dict[str, Any], *, status: int) -> str | None:
        return chat_templates.corrected(template, complaint, body["messages"], status=status)

    def first_dialect(self) -> Options:
        return Options()

    def is_home(self) -> bool:
        return is_openai(self._asked.base_url)


def _taken(message: dict[str, Any]) -> dict[str, Any]:
    """The message, its calls as servers take them: OpenAI's is strict about names, others read the arguments."""
    if "tool_calls" not in message:
        return message
    calls = [call | {"function": _function(call["function"])} for call in message["tool_calls"]]
    return message | {"tool_calls": calls}


def _function(function: dict[str, Any]) -> dict[str, Any]:
    written = function["arguments"]
    arguments = written if is_whole(written) else json.dumps(object_of(written))
    return function | {"name": fitting(function["name"]), "arguments": arguments}


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
