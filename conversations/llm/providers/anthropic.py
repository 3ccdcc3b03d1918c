"""The provider for Anthropic's messages API, for Anthropic itself and other servers that speak it."""

from __future__ import annotations

from typing import Any

from conversations.llm.clients import ANTHROPIC
from conversations.llm.known_models import ANTHROPIC_URL, is_anthropic
from conversations.llm.providers.anthropic_blocks import blocks_of, tools_of
from conversations.llm.providers.anthropic_thinking import Effort, Thinking
from conversations.llm.providers.dialects import Dialect
from conversations.llm.providers.message_events import events_of
from conversations.llm.providers.provider import Provider
from conversations.llm.providers.reported_usage import later_usage, spent_on_message
from conversations.llm.providers.stream_reader import StreamReader
from conversations.llm.providers.tool_call_chunks import text_of
from conversations.llm.request import Prompt
from conversations.llm.thinking.efforts import room_for
from conversations.llm.thinking.thoughts import BLOCKS

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class Events(StreamReader):
    """Reads the events of a streamed message. Its blocks are kept in order, as they may have to go back."""

    @staticmethod
    def is_news(event: Any) -> bool:
        return not isinstance(event, dict) or event.get("type") != "ping"

    def __init__(self, name: str, prompt: Prompt) -> None:
        super().__init__(name, prompt)
        self._usage: dict[str, Any] = {}
        self._blocks: dict[Any, dict[str, Any]] = {}

    @property
    def returned(self) -> dict[str, Any]:
        blocks = [*self._blocks.values()]
        return {"blocks": blocks} if any(block["type"] in BLOCKS for block in blocks) else {}

    def take(self, event: dict[str, Any]) -> str:
        self.thought = ""
        match event.get("type"):
            case "content_block_start":
                self._begin(event)
            case "content_block_delta":
                delta = event["delta"]
                if arguments := delta.get("partial_json"):
                    self.calls.take(event.get("index"), arguments=str(arguments))
                self.thought = self._think(event.get("index"), delta)
                text = str(delta.get("text") or "")
                self._count(event.get("index"), text)
                self.something = self.something or bool(text)
                return text
            case "message":
                return self._take_whole(event)
            case "message_start":
                self._reckon(event["message"].get("usage"))
            case "message_delta":
                self._reckon(event.get("usage"))
                reason = event["delta"].get("stop_reason")
                self.finish_reason = FINISH_REASONS.get(reason, reason) or self.finish_reason
            case "message_stop":
                self.finish()
        return ""

    def _take_whole(self, message: dict[str, Any]) -> str:
        """Read a message that came as one object instead of a stream."""
        texts, thoughts = [], []
        for event in events_of(message):
            texts.append(self.take(event))
            thoughts.append(self.thought)
        self.thought = "".join(thoughts)
        return "".join(texts)

    def _begin(self, event: dict[str, Any]) -> None:
        """Read a block's beginning; a call's arguments follow in later events, or come at once from some servers."""
        block = event.get("content_block") or {}
        if block.get("type") in BLOCKS:
            has_thought = any(known.get("thinking") for known in self._blocks.values())
            self._blocks[event.get("index")] = dict(block)
            self.thought = ("\n\n" if has_thought else "") + str(block.get("thinking") or "")
            self.unseen += len(str(block))
        if block.get("type") == "tool_use":
            id, name = str(block.get("id") or ""), str(block.get("name") or "")
            arguments = text_of(block["input"]) if block.get("input") else ""
            self.calls.take(event.get("index"), id=id, name=name, arguments=arguments)

    def _think(self, index: Any, delta: dict[str, Any]) -> str:
        """The thoughts that a delta adds to its block, which are kept with their signature."""
        block = self._blocks.get(index, {})
        for name in ("thinking", "signature"):
            if delta.get(name) and block.get("type") in BLOCKS:
                block[name] = f"{block.get(name) or ''}{delta[name]}"
                self.unseen += len(str(delta[name])) if name == "signature" else 0
        return str(delta.get("thinking") or "")

    def _count(self, index: Any, text: str) -> None:
        """Note the place of the reply's text among the thoughts; its characters are stored elsewhere."""
        if text:
            block = self._blocks.setdefault(index, {"type": "text", "characters": 0})
            block["characters"] = block.get("characters", 0) + len(text)

    def _reckon(self, usage: Any) -> None:
        """Read the usage figures, which come in two parts."""
        self._usage = later_usage(self._usage, usage)
        self.spent = spent_on_message({"usage": self._usage})


class Anthropic(Provider):
    """A model behind Anthropic's messages API. The base URL may end with "/v1" or not."""

    api = ANTHROPIC
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"
    home = ANTHROPIC_URL
    key_setting = "ANTHROPIC_API_KEY"
    reading = Events

    def __init__(self, *, base_url: str = "", **how: Any) -> None:
        super().__init__(base_url=base_url.rstrip("/").removesuffix("/v1"), **how)

    @classmethod
    def completions_url(cls, base_url: str) -> str:
        """Anthropic answers OpenAI's chat completions too, below the same address."""
        return (base_url or cls.home).rstrip("/").removesuffix("/v1") + "/v1"

    def body(self, prompt: Prompt, *, recurs: bool) -> dict[str, Any]:
        """The messages and tools of a request, with cache marks at the ends of the beginnings that later requests
        share.
        """
        system, messages = blocks_of(prompt, recurs=recurs, model=self._endpoint.model)
        content: dict[str, Any] = {"system": system, "messages": messages} if system else {"messages": messages}
        tools = tools_of(prompt)
        if not tools:
            return content
        may_call = bool(prompt.tools) and prompt.may_call
        return content | {"tools": tools} | ({} if may_call else {"tool_choice": {"type": "none"}})

    def first_dialect(self, effort: str = "") -> Dialect:
        model = self._endpoint.model
        return Effort.first(model, effort) if room_for(effort) else Thinking.first(model)

    def is_home(self) -> bool:
        return is_anthropic(self._endpoint.base_url)
