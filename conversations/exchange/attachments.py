"""Files and pastes of messages in our own export: as many images as an import takes, texts by their place.

Values that can be computed are computed, not believed; an import is as strict as an upload.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from compression.core.tokens import count_tokens
from conversations.errors import Invalid
from conversations.exchange.fields import fault, read_choice, read_list, read_number, read_object
from conversations.messages import documents, images, text_files
from conversations.messages.attachments import MAX_NAME, MAX_PENDING, clean_name
from conversations.messages.images import MAX_SIDE, MEDIA_TYPES, is_image, read_image
from conversations.messages.pastes import MAX_NUMBER, MAX_PARTS, Pasted
from conversations.messages.text_files import APART, ENDING, heading, inlined, read_text_file, words_before
from conversations.models import Attachment, Message
from conversations.models.model_profile import OWN_COUNT
from conversations.runtime.payloads import attachment_json, paste_json
from conversations.validation import clean_text

TEXT = "text/plain"
MAX_IMAGE_BYTES = 15_000_000
"""The most bytes of all images in a file: in base64 they leave room for the text in an import. Older images are only
named.
"""
MAX_PIXELS = 1_000_000_000
"""The most pixels of those images together; decoding them for an import takes ten seconds."""
DIGEST_LENGTH = 64

Kind = Attachment.Kind


def bytes_to_tell(messages: Sequence[Message]) -> dict[UUID, bytes]:
    """The bytes of the latest images that a file has room for; one query."""
    chosen: list[UUID] = []
    room, pixels = MAX_IMAGE_BYTES, MAX_PIXELS
    for row in (row for message in reversed(messages) for row in message.attachments.all()):
        if row.kind == Kind.IMAGE:
            room, pixels = room - row.size, pixels - _pixels(row)
            if room >= 0 and pixels >= 0:
                chosen.append(row.pk)
    found = Attachment.objects.filter(pk__in=chosen, data__isnull=False) if chosen else Attachment.objects.none()
    return {pk: bytes(data or b"") for pk, data in found.values_list("pk", "data")}


def files_json(message: Message, known: Mapping[UUID, bytes]) -> list[dict[str, Any]]:
    """The files of a message as JSON; the data of an image that is not in `known` is null."""
    return [_file_json(row, known.get(row.pk)) for row in message.attachments.all()]


def pastes_json(message: Message) -> list[dict[str, Any]]:
    return [paste_json(row) for row in message.pastes.all()]


def _file_json(row: Attachment, data: bytes | None) -> dict[str, Any]:
    columns = attachment_json(row, OWN_COUNT)
    described = {name: value for name, value in columns.items() if name != "id" and value is not None}
    image = {"digest": row.digest, "data": b64encode(data).decode() if data else None}
    return described | (image if row.kind == Kind.IMAGE else {})


def read_files(place: str, raw: object, role: str) -> tuple[Attachment, ...]:
    """The files of a message as unsaved rows; `checked_words` reads the text of text files."""
    if not raw:
        return ()
    if role != Message.Role.USER:
        raise fault(place, "only a person's message has files.")
    return tuple(
        _file(f"{place}[{number}]", entry) for number, entry in enumerate(read_list(place, raw, limit=MAX_PENDING))
    )


def pixels_of(files: Iterable[Attachment]) -> int:
    """The number of pixels that were decoded to check these files."""
    return sum(_pixels(row) for row in files if row.kind == Kind.IMAGE and row.data is not None)


def require_pixels(place: str, pixels: int) -> None:
    """Raise Invalid if all images together have too many pixels."""
    if pixels > MAX_PIXELS:
        raise fault(place, f"all images together have at most {MAX_PIXELS:,} pixels.")


def room_of(files: Iterable[Attachment]) -> int:
    """The number of characters that text files add to a message's text."""
    return sum(len(APART + heading(row.name) + ENDING) + (row.length or 0) for row in files if row.kind == Kind.TEXT)


def checked_words(place: str, content: str, files: Sequence[Attachment]) -> str:
    """The text of a message before its text files, whose figures are set. Raises Invalid for a file out of
    place.
    """
    texts = [row for row in files if row.kind == Kind.TEXT]
    if not texts:
        return content
    described = [(row.name, content[row.start or 0 : (row.start or 0) + (row.length or 0)]) for row in texts]
    words = words_before(content, texts[0].name, texts[0].start or 0)
    whole, places = inlined(words, described)
    if whole != content or any((row.start, row.length) != at for row, at in zip(texts, places, strict=True)):
        raise fault(place, "the text files are not where they are said to be in the content.")
    for row, (_, text) in zip(texts, described, strict=True):
        _measure(place, row, text)
    return words


def read_pastes(place: str, raw: object, words: str) -> tuple[Pasted, ...]:
    """The places of pastes within the text, in order."""
    found: list[Pasted] = []
    for number, entry in enumerate(read_list(place, raw or [], limit=MAX_PARTS)):
        where = f"{place}[{number}]"
        paste = read_object(where, entry)
        end = found[-1].start + found[-1].length if found else 0
        start = read_number(f"{where}.start", paste.get("start"), low=end, high=len(words))
        length = read_number(f"{where}.length", paste.get("length"), low=1, high=len(words) - start)
        found.append(Pasted(read_number(f"{where}.number", paste.get("number"), low=1, high=MAX_NUMBER), start, length))
    return tuple(found)


def _file(place: str, raw: object) -> Attachment:
    entry = read_object(place, raw)
    name = clean_text(f"{place}.name", entry.get("name"), limit=MAX_NAME)
    if clean_name(name) != name:
        raise fault(f"{place}.name", "is not how a file is called here: without a path, and what cannot be seen.")
    kind = read_choice(f"{place}.kind", entry.get("kind"), tuple(Kind.values))
    if kind == Kind.IMAGE:
        return Attachment(kind=kind, name=name, tokens=images.TOKENS, **_image(place, entry))
    start = read_number(f"{place}.start", entry.get("start"), low=len(heading(name)))
    length = read_number(f"{place}.length", entry.get("length"), low=1, high=text_files.MAX_BYTES)
    media_type = read_choice(
        f"{place}.media_type", entry.get("media_type", TEXT), (TEXT, *documents.MEDIA_TYPES.values())
    )
    pages = read_number(f"{place}.pages", entry["pages"], low=1, high=documents.MAX_PAGES) if "pages" in entry else None
    return Attachment(kind=kind, name=name, media_type=media_type, pages=pages, start=start, length=length)


def _pixels(row: Attachment) -> int:
    return (row.width or 0) * (row.height or 0)


def _image(place: str, entry: dict[str, Any]) -> dict[str, Any]:
    digest = clean_text(f"{place}.digest", entry.get("digest"), limit=DIGEST_LENGTH)
    if len(digest) < DIGEST_LENGTH or not set(digest) <= set("0123456789abcdef"):
        raise fault(f"{place}.digest", "must be a SHA-256 of 64 hexadecimal digits.")
    if entry.get("data") is None:
        figures = {"size": images.MAX_BYTES, "width": MAX_SIDE, "height": MAX_SIDE}
        return {
            "digest": digest,
            "media_type": read_choice(f"{place}.media_type", entry.get("media_type"), tuple(MEDIA_TYPES.values())),
            **{key: read_number(f"{place}.{key}", entry.get(key), low=1, high=most) for key, most in figures.items()},
        }
    data = _decoded(f"{place}.data", entry["data"])
    if sha256(data).hexdigest() != digest:
        raise fault(f"{place}.digest", "is not that of its bytes.")
    return {"digest": digest, "data": data} | _figures(f"{place}.data", data)


def _decoded(place: str, data: object) -> bytes:
    if not isinstance(data, str):
        raise fault(place, "must be base64, or null.")
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise fault(place, "must be base64, or null.") from None


def _figures(place: str, data: bytes) -> dict[str, Any]:
    if not is_image(data):
        raise fault(place, "is no image (PNG, JPEG, GIF, WebP).")
    try:
        image = read_image(data)
    except Invalid as refusal:
        raise fault(place, refusal.message.removeprefix("file: ")) from None
    if image.data != data:
        raise fault(place, "has more in it than an image that is kept here: where it was taken, or when.")
    return {"media_type": image.media_type, "size": len(data), "width": image.width, "height": image.height}


def _measure(place: str, row: Attachment, text: str) -> None:
    stored = text.encode()
    try:
        is_same = read_text_file(stored) == text and bool(text.strip())
    except Invalid as refusal:
        raise fault(place, refusal.message.removeprefix("file: ")) from None
    if not is_same:
        raise fault(place, f"the text of {row.name} is not as an upload would have it.")
    row.size, row.digest, row.tokens = len(stored), sha256(stored).hexdigest(), count_tokens(text)
