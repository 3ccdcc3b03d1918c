"""Copies the files and pastes of copied messages: the copies are rows of their own, with the files' bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import batched
from typing import Any
from uuid import UUID

from compression.ids import uuid7
from conversations.models import Attachment, Conversation, Paste

FILES = 4
"""The most files in memory at a time."""


def name_copies(images: Sequence[Mapping[str, Any]] | None, ids: dict[str, str]) -> list[dict[str, Any]] | None:
    """The `images` column for a message's copy; adds the ids of the images' future copies to `ids`."""
    ids |= {image["id"]: str(uuid7()) for image in images or ()}
    return [{**image, "id": ids[image["id"]]} for image in images] if images else None


def copy_files(copy: Conversation, ids: Mapping[str, str], *, of: Collection[UUID]) -> None:
    """Copy the files and pastes of the messages `of` to their copies, which are stored already.

    `ids` maps the ids of messages and images to those of their copies.
    """
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
