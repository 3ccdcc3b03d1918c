"""What has come of one streamed reply, event by event; a stream that is no reply is told from one that is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from conversations.llm.base import MOST_TOKENS, BrokenReply, Delta, NothingWritten, Spent


class Reading(ABC):
    """One reply in the making. `finish_reason` is None until the provider has said that it is whole.

    `something` says whether anything of a reply has come, `refused` whether it is a refusal.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.finish_reason: str | None = None
        self.spent: Spent | None = None
        self.something = False
        self.refused = False

    @abstractmethod
    def take(self, event: dict[str, Any]) -> str:
        """The text that one event of the stream adds; anything else than an event raises some error."""

    def end(self) -> Delta:
        """The last delta. Raises BrokenReply where nothing came, or the stream stopped without a reason."""
        filtered = self.finish_reason == "content_filter"
        if self.finish_reason is None:
            fault = "ended in the middle" if self.something else "was no reply"
            raise BrokenReply(f"{self.name}: what the provider sent {fault}. Try again.")
        if not self.something and self.finish_reason == "length":
            raise NothingWritten(
                f"{self.name} used all its tokens before it wrote anything, as reasoning models can. "
                "Raise the profile's maximum of reply tokens, or use another model."
            )
        if not self.something and not filtered:
            raise BrokenReply(f"{self.name} sent an empty reply. Try again.")
        return Delta(finish_reason=self.finish_reason, spent=self.spent, refused=self.refused or filtered)


def plausible(tokens: Any) -> int | None:
    """A figure as a provider reports it, None where it cannot be a number of tokens."""
    return tokens if type(tokens) is int and 0 <= tokens <= MOST_TOKENS else None
