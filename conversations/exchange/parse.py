"""Parses the conversations of a file of any known format, one after the other.

A large file is parsed in a separate process: a little text can take a thousand times as much memory.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import ModuleType

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.exchange import zip_files
from conversations.exchange.attachments import pixels_of, require_pixels
from conversations.exchange.document import ImportedSource, SkippedConversation
from conversations.exchange.fields import fault, within
from conversations.exchange.formats import (
    chatgpt,
    chatsite,
    claude,
    claude_code,
    claude_projects,
    cline,
    codex,
    deepseek,
    foreign_text,
    gemini,
    gemini_cli,
    grok,
    librechat,
    neutral,
    open_webui,
    opencode,
    pi,
    qwen_code,
)
from conversations.exchange.formats.foreign_images import Images
from conversations.exchange.formats.messages import MAX_MESSAGES
from conversations.exchange.json_stream import Entry, entries

FORMATS = (
    *(chatsite, cline, opencode, librechat, neutral, deepseek, chatgpt, claude, claude_projects, open_webui, grok),
    *(gemini, claude_code, codex, gemini_cli, qwen_code, pi),
)
WITH_IMAGES = (chatgpt, open_webui, neutral, claude_code, codex, gemini_cli, opencode, qwen_code, pi, cline)
GATHERED = (gemini_cli, qwen_code, pi, claude_code, codex, gemini, neutral)
"""The formats whose files have a conversation in several entries."""
MAX_CONVERSATIONS = 5_000
# UTF-32 first: its mark begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


def sources(
    payload: bytes, beside: Mapping[str, bytes] | None = None
) -> Iterator[ImportedSource | SkippedConversation]:
    """The conversations of a file, or of each part of a zip file; only one at a time is held as JSON.

    `beside` are images by their ids, as the conversations name them; a zip file has its own.

    One of several that cannot be read leaves the others alone. Raises Invalid for a file that is one conversation, or
    that has too much in it.
    """
    is_zip = zip_files.is_zip(payload)
    found = _entries(zip_files.members(payload) if is_zip else (payload,))
    if is_zip:
        projects = _entries(zip_files.projects(payload))
        found = chain(found, (one for one in projects if claude_projects.recognises(one.value)))
    broken: list[Invalid] = []
    found = _whole(found, broken)
    images = Images(zip_files.images(payload) if is_zip else beside)
    messages = pixels = 0
    for module in GATHERED:
        found = module.gathered(found)
    for number, entry in enumerate(found):
        if number == MAX_CONVERSATIONS:
            raise fault("file", f"at most {MAX_CONVERSATIONS:,} conversations.")
        place = f"[{number}]" if entry.is_listed else ""
        try:
            source = _source(entry.value, images, place=place)
        except Invalid as refusal:
            if not entry.is_listed:
                raise
            yield unread(place, entry.value, refusal)
            continue
        messages += source.size
        if messages > MAX_MESSAGES:
            raise fault("file", f"at most {MAX_MESSAGES:,} messages in all.")
        pixels += pixels_of(file for line in source.lines for file in line.files)
        require_pixels("file", pixels)
        yield source
    yield from (unread("", None, refusal) for refusal in broken)


def _whole(found: Iterable[Entry], broken: list[Invalid]) -> Iterator[Entry]:
    """The entries without the broken lines, whose faults are added to `broken`."""
    for entry in found:
        if isinstance(entry.value, Invalid):
            broken.append(entry.value)
        else:
            yield entry


def _entries(parts: Iterable[bytes]) -> Iterator[Entry]:
    return chain.from_iterable(map(entries, map(_decode, parts)))


def unread(place: str, entry: object, refusal: Invalid) -> SkippedConversation:
    """A conversation with the reason why it did not come in, which names the place within it."""
    named = entry.get("title") or entry.get("name") if isinstance(entry, dict) else ""
    return SkippedConversation(place, foreign_text.title(named), refusal.message.removeprefix(place).lstrip(".: "))


def _source(entry: object, images: Images, *, place: str) -> ImportedSource:
    """The conversation at `place` of its file. Raises Invalid, which names the place."""
    module = _format_of(entry, place=place or "file")
    with within(place):
        read = module.read_conversation
        return replace(read(entry, images) if module in WITH_IMAGES else read(entry), place=place)


def _decode(payload: bytes) -> str:
    encoding = next((name for mark, name in MARKS.items() if payload.startswith(mark)), "utf-8")
    try:
        return payload.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise Invalid(
            _("file: not %(name)s text, from byte %(start)s on.") % {"name": name, "start": f"{error.start:,}"},
            field="file",
        ) from None


def _format_of(data: object, *, place: str) -> ModuleType:
    for module in FORMATS:
        if module.recognises(data):
            return module
    names = ", ".join(module.NAME for module in FORMATS)
    raise fault(place, f"this form of JSON is not read. Read are: {names}.")
