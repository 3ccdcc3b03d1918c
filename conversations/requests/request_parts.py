"""Splits a request into parts (messages and offered tools), each with its tokens and its source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from compression.core.recall.recall import Quote, Recalled
from compression.core.tokens import count_tokens
from compression.core.values import MESSAGE_OVERHEAD, Image, Turn, Window
from conversations.context.prompt import as_messages, turns_with_images
from conversations.requests import request_log

Kind = Literal["system", "tools", "summary", "recalled", "protected", "live"]
BEGIN_WITH: dict[str, str] = {"tools": "system"}
"""Kinds whose tokens are counted together with those of another kind, as a request begins with both."""


@dataclass(frozen=True)
class Part:
    """One message of a request as it was sent, or the offered tools. `tokens` are those the model counts.

    A tool's result is a part of its own. The part of the tools has their definitions as JSON for its content and is no
    message. A part comes from a message of the conversation (`message_id`) or renders `checkpoints` (their numbers).
    `images` are those sent with it.
    """

    kind: Kind
    message: dict[str, Any]
    tokens: int
    message_id: str = ""
    checkpoints: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()
    quotes: tuple[Quote, ...] = ()
    """The recalled passages, each with its message."""

    @property
    def role(self) -> str:
        return str(self.message["role"])

    @property
    def text(self) -> str:
        """The part's text, and the names of its images."""
        content = self.message["content"]
        if isinstance(content, str):
            return content
        words = [part["text"] for part in content if part["type"] == "text"]
        return "\n".join([*words, *(image.caption for image in self.images)])

    @property
    def calls(self) -> list[dict[str, str]]:
        """The name and arguments of each tool call."""
        return [call["function"] for call in self.message.get("tool_calls", ())]

    @property
    def is_message(self) -> bool:
        return self.kind != "tools"

    @cached_property
    def offered(self) -> list[dict[str, Any]]:
        """The name, description and parameters of each offered tool."""
        return [] if self.is_message else [one["function"] for one in json.loads(self.text)]

    @property
    def digest(self) -> str:
        return request_log.digest(self.message)


def messages_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The messages of a request, without the part of its tools."""
    return [part.message for part in parts if part.is_message]


def tools_part(definitions: str, tokens: int) -> Part:
    """The part of the offered tools; `definitions` is JSON in the form of OpenAI's chat completions."""
    return Part("tools", {"role": "system", "content": definitions}, tokens)


def parts_of(
    turns: Sequence[Turn], *, with_images: bool, instructs: bool = False, recalled: Recalled | None = None
) -> Iterator[Part]:
    """Each message of each turn; what was counted for a turn is that of its results, and the rest of its own.

    What was recalled stands before the question that it was recalled for.
    """
    visible = turns_with_images(turns) if with_images else ()
    for turn in turns:
        if recalled and recalled.before == turn.id:
            yield Part("recalled", dict(recalled.message), recalled.tokens, quotes=recalled.quotes)
        kind: Kind = "protected" if turn.protected else "live"
        images = turn.images if turn.id in visible else ()
        own, *results = as_messages(turn, with_images=bool(images), instructs=instructs)
        remaining = turn.tokens
        costs = []
        for result in results:
            costs.append(min(remaining, count_tokens(result["content"]) + MESSAGE_OVERHEAD))
            remaining -= costs[-1]
        yield Part(kind, own, remaining, message_id=turn.id, images=images)
        for message, tokens in zip(results, costs, strict=True):
            yield Part(kind, message, tokens, message_id=turn.id)


def as_counted(parts: Iterable[Part], window: Window) -> Iterator[Part]:
    """The parts with tokens as the model counts them, rounded so that those of a kind add up to the usage's figure."""
    sums: Counter[str] = Counter()
    for part in parts:
        kind = BEGIN_WITH.get(part.kind, part.kind)
        before = window.corrected(sums[kind])
        sums[kind] += part.tokens
        yield replace(part, tokens=window.corrected(sums[kind]) - before)
