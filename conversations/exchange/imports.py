"""Imports files of conversations, in whatever format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from conversations.errors import Invalid
from conversations.exchange import zip_files
from conversations.exchange.document import Source
from conversations.exchange.fields import fault
from conversations.exchange.parse import sources
from conversations.exchange.store import store
from conversations.models import Conversation
from conversations.runtime.bounded_process import NotDone, OverMemory, OverTime, Pool
from conversations.runtime.fair_turns import Turns

SMALL = 1_000_000
"""The most unpacked bytes of a file that the serving process reads itself: it takes 40 MB at most."""
SECONDS, MEGABYTES = 30.0, 800
"""Seconds of processor time and megabytes of memory that reading a larger file may take."""

_pool = Pool("conversations.exchange.large_files", seconds=SECONDS, megabytes=MEGABYTES)
_small = Turns(at_once=4, a_person=20, waiting=100, seconds=20, what="files")
_large = Turns(at_once=1, a_person=2, waiting=1, seconds=20, what="large files")


@dataclass(frozen=True, slots=True)
class Imported:
    """The conversations of a file in its order, each with its number of messages; `skipped` ones had none."""

    conversations: tuple[Conversation, ...]
    messages: tuple[int, ...]
    skipped: int

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)


def import_conversations(user: AbstractBaseUser, payload: bytes) -> Imported:
    """New conversations of `user` from a file.

    Raises Invalid, naming the place; nothing is stored then. Raises TooMany and Busy while other files are being read.
    """
    if len(payload) > settings.MAX_BODY_BYTES:
        raise Invalid(f"file: at most {settings.MAX_BODY_BYTES:,} bytes.", field="file", limit=settings.MAX_BODY_BYTES)
    is_large = zip_files.unpacked_size(payload) > SMALL
    # What was read is stored in the same turn: until then it takes memory.
    with (_large if is_large else _small).turn(user.pk):
        found = list(_bounded(payload) if is_large else sources(payload))
        _require_once(found)
        kept = [source for source in found if source.lines or source.may_be_empty]
        conversations = store(user, kept)
    counts = tuple(len(source.lines) for source in kept)
    return Imported(tuple(conversations), counts, skipped=len(found) - len(kept))


def _bounded(payload: bytes) -> Iterator[Source]:
    """The same as `sources`, in a bounded process. Raises Invalid if it takes too long or too much memory."""
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
