"""Reads zip files, as other sites export them. Members are read in memory; nothing is written to disk."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from conversations.exchange.fields import fault

MARKS = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a zip file; the second are those of an empty one."""
ENTRY = b"PK\x01\x02"
MAX_MEMBERS = 10_000
MAX_BYTES = 100_000_000
"""The most unpacked bytes that are read: four times those of a file that is not packed."""
MAX_RATIO = 100
SMALL = 1_000_000
"""Bytes up to which any ratio of compression is accepted: short and repetitive texts have high ones."""
WANTED = re.compile(
    r"(?:.{0,1000}/)?(?:conversations|prod-grok-backend)\.json"
    r"|(?:.{0,1000}/)?(?=[^/]{0,100}Gemini)[^/]{1,200}/[^/]{1,200}\.json"
)
"""The files of conversations of ChatGPT, Claude, Grok and, in any language, Gemini (Google Takeout)."""
PROJECTS = re.compile(r"(?:.{0,1000}/)?projects(?:/[^/]{1,200})?\.json")
"""The files with projects in Claude's export: one for all, or one for each."""
UNWANTED = re.compile(r"(?:.{0,1000}/)?(?=[^/]{0,100}Gemini)[^/]{1,200}/[^/]{1,200}\.html")
SHARD = re.compile(r"(?:.*/)?conversations-\d{1,6}\.json")
IMAGE = re.compile(r"(?:.{0,1000}/)?(file[-_][A-Za-z0-9]{1,80})[-.][^/]{0,255}", re.IGNORECASE)
"""The images of ChatGPT's export, whose names begin with their ids: `file-AbC1-map.png`."""
MAX_IMAGE_BYTES = 5_000_000
MAX_IMAGES_BYTES = 25_000_000
"""The most unpacked bytes of all images of a zip file that are read, the first ones."""
ENCRYPTED = 0x1
BROKEN = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def is_zip(payload: bytes) -> bool:
    return payload.startswith(MARKS)


def unpacked_size(payload: bytes) -> int:
    """The unpacked bytes of a file's readable members, as the zip file declares them; no more are read.

    Raises Invalid for an unreadable file.
    """
    if not is_zip(payload):
        return len(payload)
    with _opened(payload) as archive:
        return sum(member.file_size for member in _chosen(archive.infolist()))


def members(payload: bytes) -> Iterator[bytes]:
    """The contents of `conversations.json`, or of `conversations-000.json` and so on. Raises Invalid, naming the
    member.
    """
    with _opened(payload) as archive:
        for chosen in _chosen(archive.infolist()):
            yield _content(archive, chosen)


def projects(payload: bytes) -> Iterator[bytes]:
    """The contents of files that are called as Claude's projects are; other exports have some of the same name.

    Raises Invalid, naming the member.
    """
    with _opened(payload) as archive:
        room = MAX_BYTES
        for member in archive.infolist():
            if PROJECTS.fullmatch(member.filename) and member.file_size <= room:
                room -= member.file_size
                yield _content(archive, member)


def images(payload: bytes) -> dict[str, bytes]:
    """The images beside the conversations by their ids, as many as there is room for. Raises Invalid."""
    found: dict[str, bytes] = {}
    room = MAX_IMAGES_BYTES
    with _opened(payload) as archive:
        for member in archive.infolist():
            named = IMAGE.fullmatch(member.filename)
            if named and 0 < member.file_size <= min(room, MAX_IMAGE_BYTES) and _is_readable(member):
                found[named[1]] = _content(archive, member)
                room -= member.file_size
    return found


def _is_readable(member: ZipInfo) -> bool:
    return not member.flag_bits & ENCRYPTED and member.compress_type in (ZIP_STORED, ZIP_DEFLATED)


@contextmanager
def _opened(payload: bytes) -> Iterator[ZipFile]:
    if payload.count(ENTRY) > MAX_MEMBERS:
        raise fault("file", f"a zip file has at most {MAX_MEMBERS:,} members.")
    try:
        with ZipFile(io.BytesIO(payload)) as archive:
            yield archive
    except BROKEN:
        raise fault("file", "the zip file is damaged or cut off.") from None


def _chosen(found: list[ZipInfo]) -> list[ZipInfo]:
    for member in found:
        _require_plain_name(member.orig_filename)
    chosen = [member for member in found if WANTED.fullmatch(member.filename)]
    several = chosen or sorted((one for one in found if SHARD.fullmatch(one.filename)), key=lambda one: one.filename)
    if not several:
        if any(UNWANTED.fullmatch(member.filename) for member in found):
            raise fault("file", "Gemini's activity is there as HTML. Ask Google Takeout for JSON: Multiple formats.")
        raise fault("file", "the zip file has no conversations.json.")
    if len(chosen) > 1:
        raise fault("file", f"the zip file has two: {', '.join(one.filename[:100] for one in chosen[:2])}.")
    total = sum(member.file_size for member in several)
    if total > MAX_BYTES:
        raise fault(_place(several[0]), f"at most {MAX_BYTES:,} bytes when it is unpacked, not {total:,}.")
    return several


def _require_plain_name(name: str) -> None:
    """Raise Invalid for a name that leads out of its folder: nothing is unpacked to disk, but these sites export no
    such names.
    """
    path = name.replace("\\", "/")
    if path.startswith("/") or ".." in path.split("/") or re.match(r"[A-Za-z]:", path) or "\0" in path:
        raise fault("file", f"the zip file has a member that would be outside of its folder: {name[:100]!r}.")


def _content(archive: ZipFile, member: ZipInfo) -> bytes:
    place = _place(member)
    if member.flag_bits & ENCRYPTED:
        raise fault(place, "is encrypted: it cannot be read.")
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise fault(place, "is packed in a way that is not read here: only stored and deflated members are.")
    if member.file_size > max(SMALL, MAX_RATIO * member.compress_size):
        raise fault(place, f"is packed more than {MAX_RATIO} times: this is not what an export looks like.")
    with archive.open(member) as file:
        # Without a number it would unpack all, even beyond the declared size. At its end the checksum is compared.
        return file.read(member.file_size + 1)


def _place(member: ZipInfo) -> str:
    return f"file, {member.filename[:100]}"
