"""The place of a program in a conversation's events: the id of an event holds it, and a new connection continues from
it.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID
from zlib import crc32

from django.utils import timezone

from conversations.errors import Invalid
from conversations.messages.cursors import microseconds
from conversations.models import Conversation
from conversations.runtime.event_types import EventType
from conversations.runtime.subscription import Event

HEADER = "Last-Event-ID"
SHAPE = re.compile(
    r"([0-9a-f]{8})\.(-?\d{1,16})\.(-1|\d{1,9})\.(\d{1,16})\.([0-9a-f]{0,8})\.(\d{1,9})\.(\d{1,10})", re.ASCII
)
ENDED = -1


class Cursor(NamedTuple):
    """A place. Moments are microseconds since 1970, as in the rows.

    `at` is the `created_at` of the last message that was sent, `received` the number of its characters, or ENDED.
    Compactions that ended up to `folded` were sent, and the running one whose id ends as `folding` says.
    """

    conversation: str
    at: int
    received: int
    folded: int
    folding: str
    version: int
    title: int

    @property
    def id(self) -> str:
        return ".".join(map(str, self))

    def after(self, event: Event) -> Self:
        """The place after this event, which happened just now."""
        data = event.data
        match event.type:
            case EventType.MESSAGE_CREATED if (at := moment_of(data["message"])) > self.at:
                return self._replace(at=at, received=0 if data["message"]["status"] == "streaming" else ENDED)
            case EventType.MESSAGE_DELTA if data["at"] == self.received:
                return self._replace(received=self.received + len(data["text"]))
            case EventType.MESSAGE_DONE | EventType.MESSAGE_FAILED if moment_of(data["message"]) == self.at:
                return self._replace(received=ENDED)
            case EventType.COMPACTION_STARTED:
                return self._replace(folding=short(data["id"]))
            case EventType.COMPACTION_COMPLETED:
                version = self.version + (data["status"] == "succeeded")
                return self._replace(folded=microseconds(timezone.now()), folding="", version=version)
            case EventType.TITLE_UPDATED:
                return self._replace(title=print_of(data["title"]))
        return self


def parse_cursor(text: str) -> Cursor:
    """The place in an id that `Place.id` wrote. Raises Invalid for any other text."""
    if not (found := SHAPE.fullmatch(text)):
        raise Invalid(f"{HEADER}: take it from `id` of an event.", field=HEADER)
    conversation, at, received, folded, folding, version, title = found.groups()
    return Cursor(conversation, int(at), int(received), int(folded), folding, int(version), int(title))


def before(conversation: Conversation, at: datetime, *, received: int = ENDED) -> Cursor:
    """The place of a program that knows everything up to a moment."""
    return Cursor(
        conversation=short(str(conversation.pk)),
        at=microseconds(at),
        received=received,
        folded=microseconds(timezone.now()),
        folding="",
        version=conversation.compression_version,
        title=print_of(conversation.title),
    )


def moment_of(message: dict[str, str]) -> int:
    """The moment of a message as JSON, in microseconds since 1970; 0 for a deleted one, which has none."""
    return microseconds(datetime.fromisoformat(message["created_at"])) if "created_at" in message else 0


def short(id: str | UUID) -> str:
    """The end of an id, which is its random part."""
    return str(id)[-8:]


def print_of(title: str) -> int:
    return crc32(title.encode())
