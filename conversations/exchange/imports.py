"""Imports files of conversations of all known formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.exchange import zip_files
from conversations.exchange.document import ImportedSource, SkippedConversation
from conversations.exchange.fields import fault
from conversations.exchange.parse import sources
from conversations.exchange.store import imported_before, prepared, store
from conversations.llm.profiles import default_profile
from conversations.models import Conversation
from conversations.runtime.bounded_process import JobFailed, OverMemory, OverTime, Pool
from conversations.runtime.fair_queue import FairQueue

SMALL = 1_000_000
"""The most unpacked bytes of a file that the serving process reads itself: it takes 40 MB at most."""
SECONDS, MEGABYTES = 30.0, 800
"""Seconds of processor time and megabytes of memory that reading a larger file may take."""

_pool = Pool("conversations.exchange.large_files", seconds=SECONDS, megabytes=MEGABYTES)
_small = FairQueue(at_once=4, a_person=20, waiting=100, seconds=20, what="files")
_large = FairQueue(at_once=1, a_person=2, waiting=1, seconds=20, what="large files")


@dataclass(frozen=True, slots=True)
class Imported:
    """The new conversations of a file in its order, each with its number of messages.

    `updated` are those of an earlier import with their new messages, `unchanged` were here already, `skipped` had no
    message, `unread` could not be read.
    """

    conversations: tuple[Conversation, ...]
    messages: tuple[int, ...]
    skipped: int
    updated: tuple[tuple[Conversation, int], ...] = ()
    unchanged: int = 0
    unread: tuple[SkippedConversation, ...] = ()

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)


def import_conversations(user: AbstractBaseUser, payload: bytes, beside: Mapping[str, bytes] | None = None) -> Imported:
    """New conversations of `user` from a file, and new messages in those of an earlier import.

    `beside` are images by the ids that the file has for them. All of a conversation comes in, or nothing of it: one
    that cannot be read does not keep the others out. Raises Invalid, naming the place, if nothing can be read; nothing
    is stored then. Raises TooMany and Busy while other files are being read, and StorageFull.
    """
    images = dict(beside or {})
    if len(payload) > settings.MAX_BODY_BYTES:
        raise Invalid(
            _("file: at most %(most)s bytes.") % {"most": f"{settings.MAX_BODY_BYTES:,}"},
            field="file",
            limit=settings.MAX_BODY_BYTES,
        )
    is_large = zip_files.unpacked_size(payload) + sum(map(len, images.values())) > SMALL
    # What was read is stored in the same turn: until then it takes memory.
    with (_large if is_large else _small).turn(user.pk):
        found = list(_once(_bounded(payload, images) if is_large else sources(payload, images)))
        read = [one for one in found if isinstance(one, ImportedSource)]
        kept = [source for source in read if source.lines or source.may_be_empty]
        unread = [one for one in found if isinstance(one, SkippedConversation)]
        ready, default, before = [], default_profile(user.pk), imported_before(user, kept)
        for source in kept:
            try:
                ready.append(prepared(user, source, default, before.get(source.origin)))
            except Invalid as refusal:
                unread.append(
                    SkippedConversation(
                        source.place, source.title, refusal.message.removeprefix(source.place).lstrip(". ")
                    )
                )
        to_store = [one for one in ready if one]
        if unread and not to_store and len(unread) == len(found):
            raise _refused(unread[0])
        store(user, to_store)
    made = [one for one in to_store if not one.known]
    return Imported(
        tuple(one.conversation for one in made),
        tuple(len(one.source.lines) for one in made),
        skipped=len(read) - len(kept),
        updated=tuple((one.conversation, len(one.source.lines) - one.known) for one in to_store if one.known),
        unchanged=sum(one is None for one in ready),
        unread=tuple(unread),
    )


def _bounded(payload: bytes, images: dict[str, bytes]) -> Iterator[ImportedSource | SkippedConversation]:
    """The same as `sources`, in a bounded process. Raises Invalid if it takes too long or too much memory."""
    try:
        yield from _pool.stream((payload, images))
    except OverTime:
        raise fault("file", f"could not be read within {SECONDS:g} seconds: import it in parts.") from None
    except OverMemory:
        raise fault("file", f"could not be read within {MEGABYTES:,} MB of memory: import it in parts.") from None
    except JobFailed:
        raise fault("file", "could not be read.") from None


def _refused(one: SkippedConversation) -> Invalid:
    """The refusal of a file with nothing that can be read, which names the place in its first conversation."""
    field, colon, what = one.reason.partition(":")
    is_named = bool(colon) and " " not in field
    place = ".".join(filter(None, (one.place, field if is_named else "")))
    return fault(place or "file", (what if is_named else one.reason).strip())


def _once(found: Iterable[ImportedSource | SkippedConversation]) -> Iterator[ImportedSource | SkippedConversation]:
    """The same with a second conversation of an id as unread."""
    seen: set[str] = set()
    for one in found:
        if isinstance(one, ImportedSource) and one.id in seen:
            yield SkippedConversation(one.place, one.title, f"id: the conversation id {one.id[:60]!r} appears twice.")
            continue
        if isinstance(one, ImportedSource) and one.id:
            seen.add(one.id)
        yield one
