"""The port to a language model: takes a prompt and returns text; all faults are subclasses of ModelError."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from conversations.llm.request import Prompt
from conversations.llm.thinking.thoughts import Returned
from conversations.llm.tools import ToolRequest

if TYPE_CHECKING:
    from conversations.llm.retries import Attempts

OnWritten = Callable[[int], None]
"""Called with the number of characters written so far; a new attempt begins at 0 again."""

MAX_TOKENS = 2**31 - 1
"""The largest number of tokens that a row can hold, far beyond any request."""


@dataclass(frozen=True, slots=True)
class ReportedTokens:
    """Tokens as the provider reported them; `thought` is the part of the completion that is not in the reply."""

    prompt: int
    completion: int
    cached: int = 0
    thought: int = 0

    def __add__(self, other: ReportedTokens) -> ReportedTokens:
        return ReportedTokens(
            min(self.prompt + other.prompt, MAX_TOKENS),
            min(self.completion + other.completion, MAX_TOKENS),
            min(self.cached + other.cached, MAX_TOKENS),
            min(self.thought + other.thought, MAX_TOKENS),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply. Only the last piece has the fields other than `text` and those of thoughts.

    `finish_reason` is the reason why the reply ended; `spent` are the tokens that the provider reports. `refused`: the
    model declined, and the text is its refusal or the rest that a filter left. `calls` are the model's tool calls.
    `heard`: the model repeated the mark at the head of its request (`llm.canary`); None if there was none.
    `thought` is a piece of what the model thinks before its reply; a piece has text or thoughts, never both.
    `forgets_thoughts`: all thoughts before this piece are void, as they turned out to be text, or as the model is asked
    anew. `returned` are the thoughts as the provider wants them back.
    """

    text: str = ""
    finish_reason: str | None = None
    spent: ReportedTokens | None = None
    refused: bool = False
    calls: tuple[ToolRequest, ...] = ()
    heard: bool | None = None
    thought: str = ""
    forgets_thoughts: bool = False
    returned: Returned | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply. `finish_reason` is the provider's: "stop", or "length" for one that was cut off."""

    text: str
    finish_reason: str
    spent: ReportedTokens | None = None
    refused: bool = False


class Model(Protocol):
    """A model. For all faults of its provider, both methods raise subclasses of ModelError.

    They make at most as many requests as `attempts` has left; None: each call has a budget of its own.
    """

    name: str

    def stream(self, prompt: Prompt, *, attempts: Attempts | None = None) -> AsyncGenerator[Delta]:
        """The reply in pieces; the last one has a finish_reason."""
        ...

    async def complete(
        self, prompt: Prompt, *, max_tokens: int, attempts: Attempts | None = None, on_written: OnWritten | None = None
    ) -> Reply:
        """The whole reply, of at most `max_tokens`."""
        ...
