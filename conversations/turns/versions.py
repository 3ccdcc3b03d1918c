"""Reads and restores the earlier versions of a message.

Rows never change: restoring a version stores copies of its messages, and the version that stood there until then is
kept as an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched, takewhile
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from compression.ids import uuid7
from conversations.compaction import snapshots
from conversations.errors import Conflict, NotFound
from conversations.instructions import ledger
from conversations.messages import replies
from conversations.messages.copied_requests import Ids, Moments, carry_to_end
from conversations.messages.copying import copy_files, name_copies
from conversations.messages.history import history, with_parts
from conversations.models import Conversation, Message, ToolCall
from conversations.turns import branches

Role = Message.Role
BATCH = 500
SHOWN = 20
"""The most messages shown of a version."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a message. `messages` are the message and, if a person wrote it, its answers; `more` came after."""

    number: int
    is_current: bool
    messages: tuple[Message, ...]
    more: int


def numbers(current: Message) -> dict[int, UUID]:
    """The versions of a message that was not replaced: version number -> message id.

    A restored version is represented by its latest copy, which has the messages after it.
    """
    found = {current.version or 1: current.pk}
    if current.place is None:
        return found
    first = Message.objects.get(conversation_id=current.conversation_id, pk=current.place)
    span = _span(current, first.created_at)
    is_said = ~Q(content="") | Q(tool_calls__isnull=False) | Q(images__isnull=False)
    candidates = span.filter(is_said, Q(pk=first.pk) | Q(place=first.pk))
    earlier = {number or 1: pk for number, pk in candidates.order_by("created_at").values_list("version", "pk")}
    return dict(sorted((earlier | found).items()))


def version(current: Message, number: int) -> Version:
    """A version of a message as it was when another version took its place. Raises NotFound."""
    head = _head(current, number)
    rows = with_parts(_group(current, head))[: SHOWN + 1]
    shown = tuple(_answered(list(rows))[:SHOWN])
    return Version(number, head.pk == current.pk, shown, _group(current, head).count() - len(shown))


def leaving(current: Message) -> int:
    """How many messages would leave the history together with `current`, not counting its own answers."""
    rows = history(current.conversation).filter(created_at__gt=current.created_at).order_by("created_at")
    if current.role != Role.USER:
        return rows.count()
    asked = rows.filter(role=Role.USER).values_list("created_at", flat=True).first()
    return rows.filter(created_at__gte=asked).count() if asked else 0


def use(conversation: Conversation, message_id: UUID, *, number: int) -> Message:
    """Restore a version with all that followed it, in place of the current version and everything after that.

    No model is asked. Protected messages stay protected, and the message is protected if either version was. Returns
    the message that stands there now. Raises NotFound, or Conflict if the version is the current one or a reply is
    being written.
    """
    earlier = snapshots.before(conversation.pk, branches.message_of(conversation, message_id).created_at)
    with transaction.atomic():
        version = branches.lock(conversation)
        current = branches.message_of(conversation, message_id)
        head = _head(current, number)
        if head.pk == current.pk:
            raise Conflict(_("This version is the current one."))
        begin = replies.next_moment(conversation.pk)
        branches.go_back(conversation, current.created_at, earlier, version=version)
        kept: dict[str, object] = {"is_protected": head.is_protected or current.is_protected}
        count = current.replacement_columns["versions"] - 1  # no version is added; a failed reply counts as none
        fields = kept | {"place": current.place, "version": number, "versions": count}
        ids: Ids = {}
        first = _copy(_group(current, head), current, begin, ids, **fields)
        branches.replace(current, by=first)
        ledger.restore_entries(conversation.pk, ids)
    conversation.refresh_from_db()
    return first


def _head(current: Message, number: int) -> Message:
    found = numbers(current).get(number)
    if found is None:
        raise NotFound(_("No such version."))
    return Message.objects.get(pk=found)


def _group(current: Message, head: Message) -> QuerySet[Message]:
    """A version's first message and all that followed it, in order: now, or when the version left the history."""
    if head.pk == current.pk:
        return history(current.conversation).filter(created_at__gte=head.created_at).order_by("created_at")
    return _span(current, head.created_at).filter(replaced_by=head.replaced_by_id).order_by("created_at")


def _span(current: Message, begin: datetime) -> QuerySet[Message]:
    rows = Message.objects.filter(conversation_id=current.conversation_id)
    return rows.filter(created_at__gte=begin, created_at__lt=current.created_at)


def _answered(rows: list[Message]) -> list[Message]:
    """The first message and, if a person wrote it, the answers up to the next message of a person."""
    answers = takewhile(lambda row: row.role != Role.USER, rows[1:]) if rows[0].role == Role.USER else ()
    return [rows[0], *answers]


def _copy(rows: QuerySet[Message], current: Message, begin: datetime, ids: Ids, **fields: object) -> Message:
    """Store copies of `rows` from `begin` on, in place of `current`; returns the first copy, with `fields` set.

    Each id and its copy's are added to `ids`.
    """
    first: Message | None = None
    moment = begin
    moments: Moments = {}
    for batch in batched(rows.iterator(chunk_size=BATCH), BATCH):
        olds = [row.pk for row in batch]
        calls = list(ToolCall.objects.filter(message__in=olds))
        for row in batch:
            ids[str(row.pk)], moments[row.created_at] = str(new := uuid7()), moment
            row.copy_of = row.copy_of or row.pk
            row.pk, row.created_at, row.replaced_by, row.client_id = new, moment, None, None
            row.images = name_copies(row.images, ids)
            moment += timedelta(microseconds=1)
        carry_to_end(batch, current, ids, moments)
        if first is None:
            first = batch[0]
            for name, value in fields.items():
                setattr(first, name, value)
        Message.objects.bulk_create(batch)
        copy_files(first.conversation, ids, of=olds)
        for call in calls:
            call.pk, call.message_id = None, UUID(ids[str(call.message_id)])
        ToolCall.objects.bulk_create(calls)
    assert first is not None, "a version has a message"
    return first
