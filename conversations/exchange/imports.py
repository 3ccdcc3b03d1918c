"""Files of conversations, whatever format they are in."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from types import ModuleType

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from conversations.errors import Invalid
from conversations.exchange import archive, chatgpt, chatsite, claude, neutral
from conversations.exchange.entries import entries
from conversations.exchange.files import pixels_of, require_pixels
from conversations.exchange.messages import MAX_MESSAGES
from conversations.exchange.reading import fault, within
from conversations.exchange.source import Source
from conversations.exchange.storing import store
from conversations.models import Conversation

FORMATS = (chatsite, neutral, chatgpt, claude)
MAX_CONVERSATIONS = 5_000
# UTF-32 first: its mark begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """The conversations of a file in its order, with how many messages each has; `skipped` ones had none."""

    conversations: tuple[Conversation, ...]
    messages: tuple[int, ...]
    skipped: int

    def __iter__(self) -> Iterator[Conversation]:
        return iter(self.conversations)


def import_conversations(user: AbstractBaseUser, payload: bytes) -> Imported:
    """New conversations of `user`'s out of a file. Raises Invalid, naming the place; nothing is stored then."""
    if len(payload) > settings.MAX_BODY_BYTES:
        raise Invalid(f"file: at most {settings.MAX_BODY_BYTES:,} bytes.", field="file", limit=settings.MAX_BODY_BYTES)
    found = list(_sources(payload))
    _require_once(found)
    sources = [source for source in found if source.lines or source.may_be_empty]
    conversations = store(user, sources)
    counts = tuple(len(source.lines) for source in sources)
    return Imported(tuple(conversations), counts, skipped=len(found) - len(sources))


def _sources(payload: bytes) -> Iterator[Source]:
    """The conversations of a file, or of each part of a zip file; no more than one is held as JSON at a time."""
    parts = archive.members(payload) if archive.is_zip(payload) else (payload,)
    messages = pixels = 0
    for number, entry in enumerate(chain.from_iterable(map(entries, map(_decode, parts)))):
        if number == MAX_CONVERSATIONS:
            raise fault("file", f"at most {MAX_CONVERSATIONS:,} conversations.")
        source = _source(entry.value, place=f"[{number}]" if entry.is_listed else "")
        messages += source.size
        if messages > MAX_MESSAGES:
            raise fault("file", f"at most {MAX_MESSAGES:,} messages in all.")
        pixels += pixels_of(file for line in source.lines for file in line.files)
        require_pixels("file", pixels)
        yield source


def _source(entry: object, *, place: str) -> Source:
    """A conversation that stands at `place` of its file. Raises Invalid, which says so."""
    module = _format_of(entry, place=place or "file")
    with within(place):
        return replace(module.read(entry), place=place)


def _require_once(sources: list[Source]) -> None:
    seen: set[str] = set()
    for source in sources:
        if source.id in seen:
            raise fault(f"{source.place}.id", f"the conversation id {source.id[:60]!r} appears twice.")
        if source.id:
            seen.add(source.id)


def _decode(payload: bytes) -> str:
    encoding = next((name for mark, name in MARKS.items() if payload.startswith(mark)), "utf-8")
    try:
        return payload.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise Invalid(f"file: not {name} text, from byte {error.start:,} on.", field="file") from None


def _format_of(data: object, *, place: str) -> ModuleType:
    for module in FORMATS:
        if module.recognises(data):
            return module
    names = ", ".join(module.NAME for module in FORMATS)
    raise fault(place, f"this form of JSON is not read. Read are: {names}.")
