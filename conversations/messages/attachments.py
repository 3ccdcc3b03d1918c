"""Stores images and text files: uploaded one by one, they wait to be sent and then become part of a message."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from compression.core.tokens import count_tokens
from compression.ids import uuid7
from conversations.errors import Invalid, NotFound
from conversations.messages import documents, text_files
from conversations.messages import images as image_files
from conversations.messages.images import is_image, read_image
from conversations.messages.svg import is_svg
from conversations.messages.text_files import TextRange, read_text_file
from conversations.models import Attachment, Conversation, Message
from conversations.quota import require_storage

MAX_PENDING = 10
"""The most files that wait in a conversation, and so the most files of a message."""
MAX_NAME = 200
MAX_ENDING_CHARS = 20
MAX_FILE_BYTES = max(image_files.MAX_BYTES, text_files.MAX_BYTES, documents.MAX_BYTES)
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories removed from file names: some of these characters reverse or hide the text after them."""

Kind = Attachment.Kind


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file of a message: its row and, for a text file, its text."""

    row: Attachment
    text: str = ""

    @property
    def is_image(self) -> bool:
        return bool(self.row.kind == Kind.IMAGE)


def upload(conversation: Conversation, *, name: str, data: bytes, draws: bool = False) -> Attachment:
    """Store a file for its owner's next message; the same bytes again return the first row.

    With `draws` an SVG becomes an image, for a model that sees; else it is text.

    Raises Invalid, with the field `file`, for an empty file, one that is no image, document or text, one that is too
    large, and one file too many. Raises NotFound if the conversation was deleted meanwhile, TooMany or Busy if too many
    images or documents are being read, and StorageFull.
    """
    if not data:
        raise Invalid(_("file: is empty."), field="file")
    made = read(data, draws=draws, by=conversation.owner_id)
    require_storage(conversation.owner_id, len(made["data"]))
    made["digest"] = hashlib.sha256(made["data"]).hexdigest()
    with transaction.atomic():
        if not list(Conversation.objects.select_for_update().filter(pk=conversation.pk).values_list("pk")):
            raise NotFound(_("No such conversation."))
        waiting = list(pending(conversation))
        if again := next((row for row in waiting if row.digest == made["digest"]), None):
            return again
        if len(waiting) >= MAX_PENDING:
            raise Invalid(
                _("file: at most %(most)s files a message.") % {"most": MAX_PENDING},
                field="file",
                limit=MAX_PENDING,
            )
        owner = conversation.owner_id
        return Attachment.objects.create(conversation=conversation, owner_id=owner, name=clean_name(name), **made)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The rows of an uploaded file: one, or the first pages of a scan. `pages` is the number of all pages of a scan."""

    rows: list[Attachment]
    pages: int = 0


def upload_seen(conversation: Conversation, *, name: str, data: bytes, sees: bool) -> Uploaded:
    """Store a file for a model that sees images, if `sees`: it gets drawings, and the pages of a scan, as images.

    Raises as `upload` does; ScannedDocument for a scan that the model cannot see.
    """
    try:
        return Uploaded([upload(conversation, name=name, data=data, draws=sees)])
    except documents.ScannedDocument:
        if not sees:
            raise
    return _upload_pages(conversation, name=name, data=data)


def _upload_pages(conversation: Conversation, *, name: str, data: bytes) -> Uploaded:
    """Store the pages of a scan as images, as many as a message has room for."""
    room = MAX_PENDING - pending(conversation).count()
    if room < 1:
        raise Invalid(
            _("file: at most %(most)s files a message.") % {"most": MAX_PENDING}, field="file", limit=MAX_PENDING
        )
    drawn = documents.draw_pages(data, most=room, by=conversation.owner_id)
    named = enumerate(drawn.files, start=1)
    rows = [upload(conversation, name=f"{name}, page {number}", data=page) for number, page in named]
    return Uploaded(rows, drawn.pages)


def remove(conversation: Conversation, attachment_id: UUID) -> None:
    """Delete a file that was not sent. Raises NotFound."""
    if not pending(conversation).filter(pk=attachment_id).delete()[0]:
        raise NotFound(_("No such attachment waits to be sent."))


def pending(conversation: Conversation) -> QuerySet[Attachment]:
    """The conversation's files that wait to be sent, in order."""
    return Attachment.objects.filter(conversation=conversation, message=None)


def chosen(conversation: Conversation, ids: Sequence[UUID], *, of: Message | None = None) -> tuple[AttachedFile, ...]:
    """The waiting files with these ids, in the order of their uploads; files of the message `of` are allowed too.

    Raises Invalid, naming `attachments`.
    """
    if len(set(ids)) < len(ids):
        raise Invalid("attachments: names a file twice.", field="attachments")
    if len(ids) > MAX_PENDING:
        raise Invalid(
            _("attachments: at most %(most)s files a message.") % {"most": MAX_PENDING},
            field="attachments",
            limit=MAX_PENDING,
        )
    if not ids:
        return ()
    free = Q(message=None)
    if of:  # its files, or those that were sent in parts before it
        free |= Q(message=of) | Q(message__created_at__lt=of.created_at)
    rows = {row.pk: row for row in Attachment.objects.filter(free, conversation=conversation, pk__in=ids)}
    if missing := next((id for id in ids if id not in rows), None):
        raise Invalid(
            _("attachments: no file %(missing)s waits to be sent.") % {"missing": missing},
            field="attachments",
            id=str(missing),
        )
    texts = dict(Attachment.objects.filter(pk__in=rows, kind=Kind.TEXT).values_list("pk", "data"))
    return tuple(AttachedFile(row, _text_of(row, of, bytes(texts.get(id) or b""))) for id, row in rows.items())


def copies_of(message: Message) -> tuple[AttachedFile, ...]:
    """Unsaved copies of a message's files. No query if the message visibly has no files."""
    if not message.images and text_files.OPENING not in message.content:
        return ()
    copies = []
    for row in message.attachments.defer(None):
        text = _text_of(row, message)
        row.pk, row.message, row._state.adding = uuid7(), None, True
        copies.append(AttachedFile(row, text))
    return tuple(copies)


def attach(message: Message, attached: Sequence[AttachedFile], places: Iterable[TextRange]) -> None:
    """Make files part of a message that was stored just now; `places` are the text files' positions, in order.

    Raises Invalid if a file was sent or removed meanwhile.
    """
    files = [one.row for one in attached if not one.is_image]
    for row, place in zip(files, places, strict=True):
        row.start, row.length, row.data = *place, None
    for one in attached:
        one.row.message = message
    copies = [one.row for one in attached if one.row._state.adding]
    waiting = [one.row.pk for one in attached if not one.row._state.adding]
    if Attachment.objects.filter(pk__in=waiting, message=None).update(message=message) < len(waiting):
        raise Invalid(_("attachments: one of the files was sent or removed meanwhile."), field="attachments")
    Attachment.objects.bulk_update(
        [row for row in files if row not in copies], ["start", "length", "data", "name", "tokens", "size", "pages"]
    )
    Attachment.objects.bulk_create(copies)


def bytes_of(row: Attachment) -> bytes:
    """The stored file; b"" if it was imported without its bytes."""
    return _text_of(row, row.message).encode() if row.start is not None else bytes(row.data or b"")


def noted(rows: Iterable[Attachment]) -> list[dict[str, Any]] | None:
    """The images among the rows, in the format of their message's `images` column; None without images."""
    images = [row for row in rows if row.kind == Kind.IMAGE]
    return [{"id": str(row.pk), "hash": row.digest, "name": row.name, "size": row.size} for row in images] or None


def words_of(message: Message) -> str:
    """A message's content without its files."""
    files = [row for row in message.attachments.all() if row.start is not None]
    if not files:
        return message.content
    first = min(files, key=lambda row: row.start or 0)
    return text_files.words_before(message.content, first.name, first.start or 0)


def clean_name(name: str) -> str:
    """A file name without its path and invisible characters; a too long one is cut before its ending."""
    visible = "".join(one if unicodedata.category(one) not in INVISIBLE else " " for one in name)
    last = " ".join(visible.replace("\\", "/").rsplit("/", 1)[-1].split())
    ending = last[last.rfind(".") :][:MAX_ENDING_CHARS] if len(last) > MAX_NAME and "." in last else ""
    return (last[: MAX_NAME - len(ending)] + ending).strip() if last.strip(".") else "file"


def _text_of(row: Attachment, message: Message | None, data: bytes = b"") -> str:
    """A file's text: `data` if the file waits, a part of the message if it was sent; "" for an image."""
    if row.start is None:
        return data.decode()
    return message.content[row.start : row.start + (row.length or 0)] if message else ""


def read(data: bytes, *, draws: bool = False, by: Hashable) -> dict[str, Any]:
    """The columns of a file, by what its bytes are; with `draws` an SVG is an image. Raises as `upload` does."""
    if is_image(data) or (draws and is_svg(data)):
        return _image(data, by=by)
    if kind := documents.kind_of(data):
        document = documents.read_document(data, kind, by=by)
        return _text(document.text) | {"media_type": documents.MEDIA_TYPES[document.kind], "pages": document.pages}
    return _text(read_text_file(data))


def _image(data: bytes, *, by: Hashable) -> dict[str, Any]:
    image = read_image(data, by=by)
    return {
        "kind": Kind.IMAGE,
        "media_type": image.media_type,
        "size": len(image.data),
        "width": image.width,
        "height": image.height,
        "tokens": image_files.TOKENS,
        "data": image.data,
    }


def _text(text: str) -> dict[str, Any]:
    if not text.strip():
        raise Invalid(_("file: is empty."), field="file")
    stored = text.encode()
    tokens = count_tokens(text)
    return {"kind": Kind.TEXT, "media_type": "text/plain", "size": len(stored), "tokens": tokens, "data": stored}
