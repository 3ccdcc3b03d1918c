"""Files and pastes of messages that are copied to another conversation: rows of its own, bytes too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import batched
from typing import Any
from uuid import UUID

from compression.ids import uuid7
from conversations.models import Attachment, Conversation, Paste

FILES = 4
"""That are in memory at a time."""


def name_copies(images: Sequence[Mapping[str, Any]] | None, ids: dict[str, str]) -> list[dict[str, Any]] | None:
    """The images of a message's row as those of its copy; `ids` learns what each copy will be called."""
    ids |= {image["id"]: str(uuid7()) for image in images or ()}
    return [{**image, "id": ids[image["id"]]} for image in images] if images else None


def copy_files(copy: Conversation, ids: Mapping[str, str], *, of: Collection[UUID]) -> None:
    """Those `of` messages whose copies are stored, under the `ids` of these."""
    rows = Attachment.objects.defer(None).filter(message__in=of)
    for few in batched(rows.iterator(chunk_size=FILES), FILES):
        for row in few:
            row.pk, row.conversation_id = UUID(ids.get(str(row.pk), str(uuid7()))), copy.pk
            row.message_id = UUID(ids[str(row.message_id)])
        Attachment.objects.bulk_create(few)
    pastes = list(Paste.objects.filter(message__in=of))
    for paste in pastes:
        paste.pk, paste.message_id = None, UUID(ids[str(paste.message_id)])
    Paste.objects.bulk_create(pastes)
