"""The provider for servers with OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp, LM Studio, LiteLLM …"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from conversations.llm.clients import OPENAI
from conversations.llm.known_models import OPENAI_URL, is_openai
from conversations.llm.port import Delta
from conversations.llm.providers import chat_templates, reply_lengths
from conversations.llm.providers.cache_breakpoints import (
    BREAKPOINT,
    has_breakpoints,
    with_breakpoints,
    without_breakpoints,
)
from conversations.llm.providers.choices import call_pieces, finish_reason_of, first_choice, message_in
from conversations.llm.providers.dialects import dialect_of
from conversations.llm.providers.errors_in_answers import require_success
from conversations.llm.providers.provider import Provider, RequestForm
from conversations.llm.providers.reported_usage import spent_on, usage_in
from conversations.llm.providers.stream_reader import StreamReader
from conversations.llm.providers.tool_call_chunks import is_whole, object_of
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.providers.written_calls import WrittenCalls
from conversations.llm.request import Prompt
from conversations.llm.thinking.efforts import room_for
from conversations.llm.thinking.reasoning_fields import ReasoningFields
from conversations.llm.thinking.thinking_tags import ThinkingTags
from conversations.llm.thinking.thoughts import Returned
from conversations.llm.tools import as_functions


@dataclass(frozen=True, slots=True)
class Options:
    """The options that a server accepts: whether it reports usage, its name for the limit of a reply, whether messages
    may have breakpoints of its cache, and the effort.
    """

    reports_usage: bool = True
    limit: str = "max_tokens"
    has_breakpoints: bool = True
    effort: str = ""

    def options(self, max_tokens: int | None, most: int | None = None) -> dict[str, Any]:
        options: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.reports_usage else {}
        if self.effort:
            options[EFFORT] = self.effort
        if max_tokens:
            room = room_for(self.effort)
            options[self.limit] = reply_lengths.smallest(max_tokens + room, most) if room else max_tokens
        return options

    def corrected(self, complaint: str) -> Options | None:
        if self.reports_usage and "stream_options" in complaint:
            return replace(self, reports_usage=False)
        if self.has_breakpoints and BREAKPOINT in complaint:
            return replace(self, has_breakpoints=False)
        if "max_tokens" in complaint or "max_completion_tokens" in complaint:
            other = "max_completion_tokens" if self.limit == "max_tokens" else "max_tokens"
            return replace(self, limit=other)
        if self.effort and ABOUT_EFFORT.search(complaint):
            # Models of before "none" take "minimal" for it; those that do not think take neither.
            return replace(self, effort="minimal" if self.effort == "none" else "")
        return None


EFFORT = "reasoning_effort"
ABOUT_EFFORT = re.compile(r"reason|effort|think", re.IGNORECASE)


class Chunks(StreamReader):
    """Reads the chunks of a streamed chat completion."""

    def __init__(self, name: str, prompt: Prompt) -> None:
        super().__init__(name, prompt)
        self._tags = ThinkingTags()
        self._fields = ReasoningFields()
        offered = prompt.tools if prompt.may_call else ()
        self._written = WrittenCalls({fitting_name(tool.name): json.loads(tool.parameters) for tool in offered})

    @staticmethod
    def is_news(event: Any) -> bool:
        """Whether a chunk shows progress: empty ones keep a connection alive; thoughts come in fields of many names."""
        if not (choice := first_choice(event)):
            return bool(isinstance(event, dict) and usage_in(event))
        fields = message_in(choice).items()
        return bool(choice.get("finish_reason")) or any(value for name, value in fields if name != "role")

    def take(self, event: dict[str, Any]) -> str:
        self.thought = ""
        self.spent = spent_on(event) or self.spent
        if not event.get("choices"):
            require_success(event)
            return ""
        choice = event["choices"][0]
        self.finish_reason = finish_reason_of(choice) or self.finish_reason
        delta = message_in(choice)
        refusal = str(delta.get("refusal") or "")
        self.refused = self.refused or bool(refusal)
        tagged, text = self._tags.take(str(delta.get("content") or ""))
        self.thought = self._fields.take(delta) + tagged
        self.unseen = self._fields.unseen
        text = self._written.take(text) + refusal
        self.something = self.something or bool(text)
        for piece in call_pieces(delta):
            self.calls.take(*piece)
        return text

    def rest(self) -> Delta | None:
        was_open = self._tags.is_open
        text = self._written.take(self._tags.rest())
        is_whole = self.finish_reason in ("stop", "tool_calls") and not self.calls.so_far
        further, calls = self._written.rest(is_whole=is_whole)
        for place, call in enumerate(calls):
            self.calls.take(place, name=call.name, arguments=call.arguments)
        text += further
        self.something = self.something or bool(text.strip())
        return Delta(text, forgets_thoughts=was_open) if text else None

    @property
    def returned(self) -> dict[str, Any]:
        return self._fields.returned


class OpenAICompatible(Provider):
    """A model behind an OpenAI-compatible address."""

    api = OPENAI
    path = "/chat/completions"
    models_path = "/models"
    home = OPENAI_URL
    key_setting = "OPENAI_API_KEY"
    reading = Chunks

    def body(self, prompt: Prompt, *, recurs: bool) -> dict[str, Any]:
        written = [
            _with_thoughts(_as_servers_accept(message), prompt.thoughts_at(place, self._endpoint.model))
            for place, message in enumerate(prompt.messages)
        ]
        if recurs and self.is_home() and has_breakpoints(self._endpoint.model):
            written = with_breakpoints(written, prompt)
        messages = {"messages": written}
        if not prompt.tools:
            return messages
        tools = [replace(tool, name=fitting_name(tool.name)) for tool in prompt.tools]
        choice = {} if prompt.may_call else {"tool_choice": "none"}
        return messages | {"tools": as_functions(tuple(tools))} | choice

    def _sent(self, body: dict[str, Any], max_tokens: int | None, way: RequestForm) -> dict[str, Any]:
        sent = super()._sent(body, max_tokens, way)
        if not isinstance(way.dialect, Options) or way.dialect.has_breakpoints:
            return sent
        return sent | {"messages": without_breakpoints(sent["messages"])}

    def shaped(self, body: dict[str, Any], template: str) -> dict[str, Any]:
        return body | {"messages": chat_templates.shaped(body["messages"], template)}

    def _stricter(self, template: str, complaint: str, body: dict[str, Any], *, status: int) -> str | None:
        return chat_templates.corrected(template, complaint, body["messages"], status=status)

    def first_dialect(self, effort: str = "") -> Options:
        known = dialect_of(self._endpoint.base_url, self._endpoint.model, first=Options())
        return replace(known, effort=effort) if effort and isinstance(known, Options) else Options()

    def is_home(self) -> bool:
        return is_openai(self._endpoint.base_url)


def _with_thoughts(message: dict[str, Any], returned: Returned) -> dict[str, Any]:
    """The message with the thoughts that go back with it and with its calls."""
    if extras := returned.get("calls"):
        message = message | {"tool_calls": [call | extras.get(call["id"], {}) for call in message["tool_calls"]]}
    return message | returned.get("fields", {})


def _as_servers_accept(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its tool calls in a form that all servers accept.

    OpenAI is strict about tools' names; other servers parse the arguments, which must be JSON.
    """
    if "tool_calls" not in message:
        return message
    calls = [call | {"function": _function(call["function"])} for call in message["tool_calls"]]
    return message | {"tool_calls": calls}


def _function(function: dict[str, Any]) -> dict[str, Any]:
    written = function["arguments"]
    arguments = written if is_whole(written) else json.dumps(object_of(written))
    return function | {"name": fitting_name(function["name"]), "arguments": arguments}
