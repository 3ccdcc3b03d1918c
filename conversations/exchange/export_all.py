"""Exports all conversations of a person as one zip, written as it is downloaded: only one conversation is in memory."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone
from django.utils.text import slugify

from conversations.access import own_conversations
from conversations.exchange.exports import as_json
from conversations.exchange.markdown import as_markdown
from conversations.messages.attachments import clean_name
from conversations.models import Attachment, Conversation, Project
from conversations.project_files import files_of, text_of
from conversations.projects import own_projects
from conversations.runtime.payloads import project_json
from conversations.saved_prompts import prompts_of

MAX_SLUG_CHARS = 60


class _Pieces(io.RawIOBase):
    """A file without reading and seeking: `take` returns the bytes written since the last call."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self._written.append(piece := bytes(data))  # type: ignore[call-overload]
        return len(piece)

    def take(self) -> bytes:
        data = b"".join(self._written)
        self._written.clear()
        return data


async def everything(user: AbstractBaseUser, *, only: Sequence[Conversation] | None = None) -> AsyncIterator[bytes]:
    """The pieces of a zip with `conversations.json`, which an import reads, a Markdown file each, all images,
    `prompts.json` and `projects.json` with the saved prompts and the projects, and the texts of their files. With
    `only`, it has these conversations alone.
    """
    pieces = _Pieces()
    steps = _steps(user, only, ZipFile(pieces, "w", ZIP_DEFLATED))
    more: Callable[[], bool] = lambda: next(steps, None) is not None  # noqa: E731 - a StopIteration crosses no thread
    while await sync_to_async(more)():
        if data := pieces.take():
            yield data
    yield pieces.take()


def _steps(user: AbstractBaseUser, only: Sequence[Conversation] | None, archive: ZipFile) -> Iterator[bool]:
    """Write the archive, one conversation or image a step."""
    own = own_conversations(user)
    own = own if only is None else own.filter(pk__in=[row.pk for row in only])
    ids = list(own.order_by("created_at", "id").values_list("pk", flat=True))
    prompts = [{"name": prompt.name, "text": prompt.text} for prompt in prompts_of(user)]
    projects = [_project(user, project) for project in own_projects(user).select_related("model", "owner")]
    with archive:
        if only is None:
            for name, rows in (("prompts", prompts), ("projects", projects)):
                archive.writestr(_member(f"{name}.json"), json.dumps(rows, ensure_ascii=False, indent=1))
            yield from _files(archive, user)
        with archive.open(_member("conversations.json"), "w", force_zip64=True) as file:
            for number, id in enumerate(ids):
                if conversation := _conversation(user, id):
                    text = json.dumps(as_json(conversation), ensure_ascii=False)
                    file.write(f"{',' if number else '['}\n{text}".encode())
                yield True
            file.write(b"\n]\n" if ids else b"[]\n")
        for number, id in enumerate(ids, start=1):
            if conversation := _conversation(user, id):
                name = f"{number:04}-{slugify(str(conversation))[:MAX_SLUG_CHARS] or 'chat'}"
                archive.writestr(_member(f"markdown/{name}.md"), as_markdown(conversation))
                yield from _images(archive, conversation, name)
            yield True


def _images(archive: ZipFile, conversation: Conversation, folder: str) -> Iterator[bool]:
    rows = Attachment.objects.filter(conversation=conversation, kind=Attachment.Kind.IMAGE).exclude(message=None)
    for number, row in enumerate(rows.iterator(chunk_size=1), start=1):
        if row.data:
            member = _member(f"images/{folder}/{number:03}-{clean_name(row.name)}", is_packed=True)
            archive.writestr(member, bytes(row.data))
            yield True


def _files(archive: ZipFile, user: AbstractBaseUser) -> Iterator[bool]:
    """Write the text of each file of the projects, one a step."""
    for number, project in enumerate(own_projects(user), start=1):
        folder = f"{number:03}-{slugify(project.name)[:MAX_SLUG_CHARS] or 'project'}"
        for place, file in enumerate(files_of(project), start=1):
            archive.writestr(_member(f"files/{folder}/{place:03}-{clean_name(file.title)}.txt"), text_of(file))
            yield True


def _project(user: AbstractBaseUser, project: Project) -> dict[str, Any]:
    """The project as JSON, with the ids of its conversations."""
    ids = own_conversations(user).filter(project=project).order_by("created_at").values_list("pk", flat=True)
    return project_json(project) | {"conversations": [str(pk) for pk in ids]}


def _conversation(user: AbstractBaseUser, id: UUID) -> Conversation | None:
    """The conversation; None if it was deleted meanwhile."""
    return own_conversations(user).select_related("model").filter(pk=id).first()


def _member(name: str, *, is_packed: bool = False) -> ZipInfo:
    member = ZipInfo(name, timezone.localtime().timetuple()[:6])
    member.compress_type = ZIP_STORED if is_packed else ZIP_DEFLATED
    return member
