"""Reads a streamed reply event by event, and recognises a stream that is no complete reply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from compression.core.error_codes import ErrorCode
from conversations.llm.errors import BrokenReply, EmptyReply, ForbiddenToolCall
from conversations.llm.port import Delta, ReportedTokens
from conversations.llm.providers.tool_call_chunks import Calls
from conversations.llm.providers.tool_naming import fitting_name
from conversations.llm.request import Prompt
from conversations.llm.tools import ToolRequest


class StreamReader(ABC):
    """Reads one reply to a prompt. `finish_reason` is None until the provider has ended the reply.

    `something`: a part of the reply has arrived. `refused`: the reply is a refusal. `thought` are the thoughts that the
    last event added, and `returned` all of them as the provider wants them back; `unseen` counts characters of these
    that nobody sees.
    """

    def __init__(self, name: str, prompt: Prompt) -> None:
        self.name = name
        self.calls = Calls()
        self._prompt = prompt
        self.finish_reason: str | None = None
        self.spent: ReportedTokens | None = None
        self.something = False
        self.refused = False
        self.thought = ""
        self.unseen = 0

    @staticmethod
    def is_news(event: Any) -> bool:
        """Whether an event shows that the model is working, and not only that the connection is alive."""
        return True

    @abstractmethod
    def take(self, event: dict[str, Any]) -> str:
        """The text that one event of the stream adds; raises an exception for anything that is no event."""

    def finish(self) -> None:
        """Accept the reply as complete when the server has ended the stream: some servers give no finish reason.

        A reply without text or calls, or with a call whose arguments are incomplete, stays unfinished.
        """
        has_all = all(call.is_whole or not call.size for call in self.calls.so_far)
        if self.finish_reason is None and has_all and (self.something or self.calls.so_far):
            self.finish_reason = "stop"

    def rest(self) -> Delta | None:
        """The text that is recognised only at the end of a complete reply, if any."""
        return None

    @property
    def returned(self) -> dict[str, Any]:
        """All thoughts in the provider's own form, without the model's id; empty if there are none."""
        return {}

    def end(self) -> Delta:
        """The last delta. Raises BrokenReply if the reply is empty, or the stream ended without a finish reason."""
        filtered = self.finish_reason == "content_filter"
        refused = self.refused or filtered
        requested = self.calls.whole({fitting_name(tool.name): tool.name for tool in self._prompt.tools})
        if self.finish_reason is None:
            fault = "ended in the middle" if self.something or requested else "was no reply"
            raise BrokenReply(f"{self.name}: what the provider sent {fault}. Try again.")
        calls = requested if self._prompt.tools and self._prompt.may_call and not refused else ()
        if not (self.something or calls or filtered):
            raise self._empty(called=bool(requested))
        return Delta(finish_reason=self._reason(calls), spent=self.spent, refused=refused, calls=calls)

    def _empty(self, *, called: bool) -> BrokenReply:
        if called:
            return ForbiddenToolCall(f"{self.name} called a tool where it was to answer by itself. Try again.")
        if self.finish_reason == "length":
            empty = EmptyReply(
                f"{self.name} used all its tokens before it wrote anything, as reasoning models can. "
                "Raise the profile's maximum of reply tokens, or use another model."
            )
            empty.spent = self.spent
            return empty
        return BrokenReply(f"{self.name} sent an empty reply. Try again.", code=ErrorCode.EMPTY_REPLY)

    def _reason(self, calls: tuple[ToolRequest, ...]) -> str | None:
        """The finish reason: servers differ for replies with calls; a reply whose calls are dropped just stopped."""
        if calls and self.finish_reason == "stop":
            return "tool_calls"
        return "stop" if self.finish_reason == "tool_calls" and not calls else self.finish_reason
