"""Files of a project: its chats get the passages of them that bear on a question.

A file is a conversation of its own kind, which no list shows: its messages are the file's parts in order. So its
passages are found, quoted and dated as those of the project's chats are, and it goes when the project goes.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from conversations.context.provenance import FILED
from conversations.errors import Invalid, NotFound
from conversations.memory import message_index
from conversations.messages import attachments, long_files
from conversations.messages.attachments import AttachedFile
from conversations.messages.text_files import inlined
from conversations.models import Attachment, Conversation, Message, Project
from conversations.quota import require_storage

MAX_FILES = 100
"""The most files of a project."""
PART_TOKENS = 800
"""The most tokens of a part, by our own count: a passage is found within it, with its pages in the part's name."""
MAX_SPEAKER_CHARS = 100


def add(project: Project, *, name: str, data: bytes, by: int | None = None) -> Conversation:
    """Store a file of text or a document; the same bytes again return the first one.

    It is the project's owner's, who has the room for it; `by` is the id of the person who adds it (None: the owner).

    Raises Invalid, with the field `file`, for an empty file, an image, one that cannot be read or is too large, and one
    file too many; NotFound if the project was deleted meanwhile; TooMany or Busy if too many documents are being read;
    StorageFull.
    """
    if not data:
        raise Invalid(_("file: is empty."), field="file")
    made = attachments.read(data, by=by or project.owner_id)
    if made["kind"] == Attachment.Kind.IMAGE:
        raise Invalid(_("file: a project has texts and documents, no images."), field="file")
    text: str = made.pop("data").decode()
    require_storage(project.owner_id, len(text))
    digest = hashlib.sha256(text.encode()).hexdigest()
    name = attachments.clean_name(name)
    row = Attachment(owner_id=project.owner_id, name=name, digest=digest, **made)
    parts = long_files.parts_of(AttachedFile(row, text), tokens=PART_TOKENS)
    with transaction.atomic():
        if not list(Project.objects.select_for_update().filter(pk=project.pk).values_list("pk")):
            raise NotFound(_("No such project."))
        if known := files_of(project).filter(attachments__digest=digest).first():
            return known
        if files_of(project).count() >= MAX_FILES:
            raise Invalid(
                _("file: at most %(most)s files a project. Remove one first.") % {"most": MAX_FILES},
                field="file",
                limit=MAX_FILES,
            )
        file = Conversation.objects.create(
            owner_id=project.owner_id, project=project, kind=Conversation.Kind.FILE, title=name
        )
        _store(file, parts)
    try:
        message_index.catch_up(file.pk)  # so that the next question finds its passages
    except DatabaseError as error:  # the file is stored: the upkeep indexes it
        message_index.report(error)
    return file


def _store(file: Conversation, parts: list[AttachedFile]) -> None:
    """Store the parts as the file's messages, a microsecond apart."""
    began, messages = timezone.now(), []
    for number, part in enumerate(parts):
        content, (place,) = inlined("", [(part.row.name, part.text)])
        message = Message(
            conversation=file,
            role=Message.Role.USER,
            name=file.title[:MAX_SPEAKER_CHARS],
            content=content,
            origin=FILED,
            token_count=part.row.tokens,
            created_at=began + timedelta(microseconds=number),
        )
        part.row.conversation, part.row.message = file, message
        part.row.start, part.row.length = place
        messages.append(message)
    Message.objects.bulk_create(messages)
    Attachment.objects.bulk_create([part.row for part in parts])


def files_of(project: Project) -> QuerySet[Conversation]:
    """The project's files by name."""
    kind = Conversation.Kind.FILE
    return Conversation.objects.filter(project=project, owner=project.owner_id, kind=kind).order_by("title", "pk")


def described(files: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """The files with `parts`, `tokens` by our own count, and `first`, the id of the first part."""
    first = Message.objects.filter(conversation=OuterRef("pk")).order_by("created_at").values("pk")[:1]
    counts = {"parts": Count("messages"), "tokens": Sum("messages__token_count", default=0)}
    return files.annotate(**counts, first=Subquery(first))


def text_of(file: Conversation) -> str:
    """The whole text of a file."""
    rows = Attachment.objects.filter(conversation=file).select_related("message").order_by("message__created_at")
    return "".join(attachments.bytes_of(row).decode() for row in rows)


def remove(project: Project, file_id: UUID) -> None:
    """Delete a file with all its parts: no request has passages of it from now on. Raises NotFound."""
    if not files_of(project).filter(pk=file_id).delete()[0]:
        raise NotFound(_("This project has no such file."))
