"""Holds the thoughts of a turn's replies that called tools: they go back to the model until the turn ends.

Thoughts that this process lacks, for example of a turn taken over from another worker, are read from the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

from asgiref.sync import sync_to_async

from compression.core.tokens import count_tokens
from compression.core.values import Turn
from conversations.context.transcript import Loaded
from conversations.llm.thinking.thoughts import Returned
from conversations.messages.answer import Answer
from conversations.models import Message
from conversations.requests.request_log import SentRequest


@dataclass(frozen=True, slots=True)
class ReplyThoughts:
    """The thoughts of one reply as they go back, and their tokens by our count."""

    returned: Returned
    tokens: int


@dataclass(slots=True)
class TurnThoughts:
    """The thoughts by the ids of replies; None for a reply without any."""

    known: dict[str, ReplyThoughts | None] = field(default_factory=dict)

    def note(self, answer: Answer) -> None:
        """Remember the thoughts of a reply that has ended, for the requests that follow in its turn."""
        self.known[str(answer.id)] = _kept(answer.thoughts.returned)

    async def added(self, sent: SentRequest) -> tuple[SentRequest, int]:
        """The request with the thoughts that go back, and their tokens as the model counts them.

        The latest go first, each reply's whole; those that do not fit into the window are left out.
        """
        places = list(_places(sent.loaded))
        if unknown := [turn.id for _, turn in places if turn.id not in self.known]:
            self.known |= await sync_to_async(_stored)(unknown)
        window, fitting, tokens = sent.profile.usable_window, [], 0
        for place, turn in places:
            kept = self.known.get(turn.id)
            if kept is None:
                continue
            more = window.corrected(kept.tokens)
            if sent.used + tokens + more > window.budget:
                break
            tokens += more
            fitting.append((place, kept.returned))
        return replace(sent, prompt=replace(sent.prompt, thoughts=tuple(fitting))) if fitting else sent, tokens


def _places(loaded: Loaded) -> Iterator[tuple[int, Turn]]:
    """(place in the request from its end, reply) of this turn's replies that called tools, the latest first."""
    if not loaded.is_at_tools:
        return
    place = 0
    for turn in reversed(loaded.live):
        if turn.role != Message.Role.ASSISTANT or not turn.tools:
            return
        place -= 1 + len(turn.tools)
        yield place, turn


def _kept(returned: Returned | None) -> ReplyThoughts | None:
    return ReplyThoughts(returned, count_tokens(json.dumps(returned, ensure_ascii=False))) if returned else None


def _stored(ids: list[str]) -> dict[str, ReplyThoughts | None]:
    rows = Message.objects.filter(pk__in=map(UUID, ids)).values_list("pk", "returned_thoughts")
    return {str(pk): _kept(returned) for pk, returned in rows}
