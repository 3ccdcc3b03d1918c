"""Collects a model's answer to one request while it streams, and turns it into the columns of its message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from compression.ids import milliseconds_since
from conversations.llm.port import Delta, ReportedTokens
from conversations.llm.probes import window_reports
from conversations.llm.thinking.thinking_tags import split_closed
from conversations.llm.tools import ToolRequest
from conversations.llm.windows import windows
from conversations.messages import tool_calls
from conversations.messages.thoughts import Thoughts
from conversations.requests import request_log
from conversations.requests.request_log import SentRequest
from conversations.runtime import end_reasons


@dataclass(slots=True)
class Answer:
    """A model's answer while it is written.

    `id` is the message's id, whose time is that of the request for a reply. `sent` is the request to the model, None
    until it was sent; `length` counts the characters of `pieces`.
    """

    id: UUID
    sent: SentRequest | None = None
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    calls: tuple[ToolRequest, ...] = ()
    spent: ReportedTokens | None = None
    first_token_ms: int | None = None
    finish_reason: str = ""
    provider_words: str = ""
    """The provider's own words about its fault."""
    heard: bool | None = None
    """Whether the model repeated the mark at the head of its request; None if there was none."""
    thoughts: Thoughts = field(default_factory=Thoughts)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, delta: Delta) -> None:
        if delta.forgets_thoughts:
            self.thoughts = Thoughts()
        if delta.thought:
            self.thoughts.add(delta.thought)
        else:
            self.thoughts.pause()
        if delta.text:
            if not self.pieces:
                self.first_token_ms = milliseconds_since(self.id)
            self.pieces.append(delta.text)
            self.length += len(delta.text)
        self.calls = delta.calls or self.calls
        self.spent = delta.spent or self.spent
        self.finish_reason = delta.finish_reason or self.finish_reason
        self.heard = delta.heard if delta.heard is not None else self.heard
        self.thoughts.returned = delta.returned or self.thoughts.returned

    def restart(self) -> None:
        """Drop the answer so far, before the model is asked once more."""
        self.pieces, self.length, self.calls, self.spent = [], 0, (), None
        self.first_token_ms, self.finish_reason, self.heard = None, "", None
        self.thoughts = Thoughts()

    def settle(self) -> None:
        """Split off thoughts that end with a closing tag alone, once the answer has ended."""
        thoughts, text = split_closed(self.text)
        if thoughts and not self.thoughts.pieces:
            self.thoughts.add(thoughts)
            self.thoughts.pause()
            self.pieces, self.length = [text], len(text)

    def tokens(self) -> int:
        """The message's tokens with its tool calls, by the site's own count; takes time linear in its length.

        Thoughts are counted apart: they are no part of later requests.
        """
        self.thoughts.count()
        return tool_calls.tokens_of(self.text, self.calls)

    def columns(self) -> dict[str, Any]:
        """The message's columns: its text, its end's reason, its request, and the usage that the provider reported.

        Stores the texts that the request refers to, so the caller must not hold any locks.
        """
        return {
            "content": self.text,
            "finish_reason": end_reasons.kept_reason(self.finish_reason),
            "first_token_ms": self.first_token_ms,
            "provider_words": self.provider_words,
            **self.thoughts.columns(reported=self.spent.thought if self.spent else 0),
            **(
                request_log.as_columns(self.sent) | request_log.spending_columns(self.sent.profile, self.spent)
                if self.sent
                else {}
            ),
        }

    def teach_profile(self) -> None:
        """Update the profile's token correction and window from what the provider reported for this request."""
        if not self.sent:
            return
        head, estimated, profile = self.sent.loaded.head, self.sent.estimated, self.sent.profile
        if self.spent:
            window_reports.learn(
                profile, head.owner_id, thread=head.id, estimated=estimated, reported=self.spent.prompt
            )
            if self.finish_reason == "length":
                window_reports.learn_end(profile, prompt=self.spent.prompt, completion=self.spent.completion)
        elif self.heard is not None and self.finish_reason == "stop":
            window_reports.learn_mark(profile, head.owner_id, estimated=estimated, heard=self.heard)
        if self.finish_reason:
            windows.ask_if_unknown(profile)
