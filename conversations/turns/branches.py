"""Regenerates replies and edits messages: a new message takes the place of an old one.

The old message and everything after it leave the history; their rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from conversations.agents import runs
from conversations.compaction import snapshots
from conversations.compaction.snapshots import StateBefore
from conversations.context.transcript import HISTORY
from conversations.errors import Conflict, NotFound
from conversations.instructions import ledger
from conversations.messages import replies
from conversations.messages.attachments import copies_of
from conversations.messages.pastes import Pasted
from conversations.models import Conversation, Message
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.turns import begin

Role = Message.Role


def regenerate(conversation: Conversation, message_id: UUID) -> Message:
    """Replace a reply and everything after it by a new pending reply. Raises NotFound or Conflict.

    The replied-to message stays: it is the last message of the history then, and is sent verbatim.
    """
    old = message_of(conversation, message_id)
    if old.role != Role.ASSISTANT:
        raise Conflict(_("Only a reply can be written anew. Edit the message instead."), code="not_a_reply")
    asked_at = _question_of(old).created_at
    earlier = snapshots.before(conversation.pk, asked_at)
    with transaction.atomic():
        version = lock(conversation)
        old = message_of(conversation, message_id)
        go_back(conversation, asked_at, earlier, version=version)
        reply = replies.store_reply(conversation, **old.replacement_columns)
        replace(old, by=reply)
        replies.answer_later(reply)
    conversation.refresh_from_db()
    return reply


def edit(
    conversation: Conversation,
    message_id: UUID,
    *,
    content: str,
    pastes: Sequence[Pasted] = (),
    pasted: Sequence[str] = (),
) -> begin.BegunTurn:
    """Replace a person's message and everything after it by an edited message and a pending reply.

    The edited message keeps the protection and the files of the old one. Raises NotFound, Invalid, Conflict or
    TooLarge; nothing is changed then.
    """
    old = message_of(conversation, message_id)
    if old.role != Role.USER:
        raise Conflict(_("Only a person's message can be edited."), code="not_a_question")
    asked = begin.checked(conversation, content, attached=copies_of(old), pastes=pastes, pasted=pasted, earlier=old)
    earlier = snapshots.before(conversation.pk, old.created_at)
    with transaction.atomic():
        version = lock(conversation)
        old = message_of(conversation, message_id)
        go_back(conversation, old.created_at, earlier, version=version)
        fields = old.replacement_columns | {"is_protected": old.is_protected}
        begun = begin.store_question(conversation, asked, **fields)
        replace(old, by=begun.question)
        replies.answer_later(begun.reply)
    conversation.refresh_from_db()
    return begun


def message_of(conversation: Conversation, message_id: UUID) -> Message:
    """A message of the conversation that was not replaced. Raises NotFound."""
    message = Message.objects.filter(conversation=conversation, pk=message_id, replaced_by=None).first()
    if message is None:
        raise NotFound(_("No such message."))
    return message


def lock(conversation: Conversation) -> int:
    """Lock the conversation before messages leave its history; returns the version that it had.

    Other writers wait, and a running compaction's result is discarded.
    """
    replies.lock_conversation(conversation)
    return snapshots.lock(conversation.pk)


def _question_of(reply: Message) -> Message:
    """The message before a reply: a user message, or an assistant message whose tool results the reply was based on.

    Raises Conflict if there is none.
    """
    earlier = Message.objects.filter(HISTORY, conversation_id=reply.conversation_id, created_at__lt=reply.created_at)
    found = earlier.order_by("-created_at").first()
    is_said = found is not None and found.role == Role.ASSISTANT and not found.tool_calls.exists()
    if found is None or is_said or not earlier.filter(role=Role.USER).exists():
        raise Conflict(_("This reply has no question."), code="no_question")
    return found


def go_back(conversation: Conversation, moment: datetime, earlier: StateBefore, *, version: int) -> None:
    """Undo the compression of all messages from `moment` on.

    Restores the latest valid snapshot from before `moment`; without one, the conversation is uncompressed. `earlier`
    was read before the conversation was locked. It is read again if the conversation had another `version` then.
    """
    if earlier.version != version:
        earlier = snapshots.before(conversation.pk, moment)
    if earlier.snapshot:
        snapshots.restore(conversation.pk, earlier.snapshot)


def replace(old: Message, *, by: Message) -> None:
    """Take `old` and everything after it out of the history, up to its replacement `by`, which was just stored."""
    rows = Message.objects.filter(conversation_id=old.conversation_id, replaced_by=None)
    replaced = rows.filter(created_at__gte=old.created_at, created_at__lt=by.created_at)
    leaving = list(replaced.filter(role=Role.USER).values_list("pk", flat=True))
    replaced.update(replaced_by=by)
    ledger.withdraw(old.conversation_id, leaving, by=by.pk)
    runs.close(old.conversation_id)
    _forget_elided(old.conversation_id)
    transaction.on_commit(partial(publish, old.conversation_id, EventType.RESYNC))


def _forget_elided(conversation_id: UUID) -> None:
    """Drop replaced messages from `elided`.

    `verbatim_ids` needs no change: its messages are older than the cut, and the replaced ones are newer.
    """
    rows = Conversation.objects.filter(pk=conversation_id)
    elided = rows.values_list("elided", flat=True).get()
    if elided:
        left = {str(pk) for pk in Message.objects.filter(pk__in=elided, replaced_by=None).values_list("pk", flat=True)}
        rows.update(elided={id: tokens for id, tokens in elided.items() if id in left})
