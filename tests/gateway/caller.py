"""A program that calls the gateway with a history that grows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import openai

from tests.faults.serving import Served

Messages = list[dict[str, Any]]
_topics = itertools.count(1)


@dataclass
class Caller:
    served: Served
    topic: int = field(default_factory=lambda: next(_topics))

    @cached_property
    def client(self) -> openai.OpenAI:
        """The official client: nothing is set but its base URL and its key."""
        return openai.OpenAI(base_url=f"{self.served.site.url}/v1", api_key=self.served.key, max_retries=0)

    def history(self, count: int, *, words: int = 10) -> Messages:
        """A system prompt and `count` messages of its own, the last a person's; about `words` + 20 tokens each."""
        said = [
            {
                "role": "assistant" if (count - number) % 2 == 0 else "user",
                "content": f"Topic {self.topic}, message {number}: port {5000 + number}. " + f"word{number} " * words,
            }
            for number in range(count)
        ]
        return [{"role": "system", "content": "Answer shortly."}, *said]

    def ask(self, messages: Messages, **more: Any) -> Any:
        """The raw response, with its headers; `.parse()` gives the completion."""
        create = self.client.chat.completions.with_raw_response.create
        return create(model="scripted", messages=messages, **more)  # type: ignore[call-overload]

    @property
    def sent(self) -> Messages:
        """What the model was sent last."""
        return list(self.served.llm.chats[-1].body["messages"])
