"""Files of conversations, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from conversations.bounded_process import NotDone, OverMemory, OverTime, Pool
from conversations.errors import Invalid
from conversations.exchange import archive
from conversations.exchange.documents import sources
from conversations.exchange.reading import fault
from conversations.exchange.source import Source
from conversations.exchange.storing import store
from conversations.fair_turns import Turns
from conversations.models import Conversation

SMALL = 1_000_000
"""Bytes of a file, unpacked, up to which it is read in the process that serves: it is no more than 40 MB then."""
SECONDS, MEGABYTES = 30.0, 800
"""Of a processor and of memory that reading a larger one may take."""

_pool = Pool("conversations.exchange.large_files", seconds=SECONDS, megabytes=MEGABYTES)
_small = Turns(at_once=4, a_person=20, waiting=100, seconds=20, what="files")
_large = Turns(at_once=1, a_person=2, waiting=1, seconds=20, what="large files")


@dataclass(frozen=True, slots=True)
class Imported:
    """The conversations of a file in its order, with how many messages each has; `skipped` ones had none."""

    conversations: tuple[Conversation, ...]
    messages: tuple[int, ...]
    skipped: int

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)


def import_conversations(user: AbstractBaseUser, payload: bytes) -> Imported:
    """New conversations of `user`'s out of a file. Raises Invalid, naming the place; nothing is stored then.

    Raises TooMany and Busy where other files are being read.
    """
    if len(payload) > settings.MAX_BODY_BYTES:
        raise Invalid(f"file: at most {settings.MAX_BODY_BYTES:,} bytes.", field="file", limit=settings.MAX_BODY_BYTES)
    is_large = archive.unpacked_size(payload) > SMALL
    # What was read is stored in the same turn: until then it takes memory.
    with (_large if is_large else _small).turn(user.pk):
        found = list(_bounded(payload) if is_large else sources(payload))
        _require_once(found)
        kept = [source for source in found if source.lines or source.may_be_empty]
        conversations = store(user, kept)
    counts = tuple(len(source.lines) for source in kept)
    return Imported(tuple(conversations), counts, skipped=len(found) - len(kept))


def _bounded(payload: bytes) -> Iterator[Source]:
    """The same as `sources`. Raises Invalid where it takes too long or too much memory."""
    try:
        yield from _pool.stream(payload)
    except OverTime:
        raise fault("file", f"could not be read within {SECONDS:g} seconds: import it in parts.") from None
    except OverMemory:
        raise fault("file", f"could not be read within {MEGABYTES:,} MB of memory: import it in parts.") from None
    except NotDone:
        raise fault("file", "could not be read.") from None


def _require_once(sources: list[Source]) -> None:
    seen: set[str] = set()
    for source in sources:
        if source.id in seen:
            raise fault(f"{source.place}.id", f"the conversation id {source.id[:60]!r} appears twice.")
        if source.id:
            seen.add(source.id)
