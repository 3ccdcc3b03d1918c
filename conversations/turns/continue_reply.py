"""Continues an incomplete reply: a visible user message asks the model for the rest of it.

The partial reply stays as it is, and roles still alternate, as strict providers require. Prefilling the reply would
need no message, but newer models refuse that.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from conversations.context.transcript import CONTINUE
from conversations.errors import Conflict
from conversations.messages import replies
from conversations.messages.history import state_of
from conversations.models import Conversation, Message
from conversations.runtime import end_reasons
from conversations.runtime.event_types import EventType
from conversations.runtime.events import publish
from conversations.runtime.payloads import message_json
from conversations.turns import begin, branches
from conversations.turns.begin import BegunTurn


def go_on(conversation: Conversation, message_id: UUID) -> BegunTurn:
    """Store a message that asks for the rest of the last reply, and have it answered after the commit.

    Raises NotFound; Conflict if the reply is not the last message, is complete, or is part of a summary; TooLarge or
    TooMany.
    """
    branches.message_of(conversation, message_id)
    asked = replace(begin.checked(conversation, CONTINUE), words="")  # text of the site: no rule is in it
    with transaction.atomic():
        changed: dict[str, Any] = {} if conversation.model_id == asked.profile.pk else {"model": asked.profile}
        replies.lock_conversation(conversation, **changed)
        conversation.refresh_from_db(fields=["compressed_at", "verbatim_ids"])
        _require_unfinished(conversation, branches.message_of(conversation, message_id))
        begun = begin.store_question(conversation, asked)
        for message in (begun.question, begun.reply):
            payload = message_json(message, asked.profile.usable_window, is_bare=True)
            transaction.on_commit(partial(publish, conversation.pk, EventType.MESSAGE_CREATED, message=payload))
        replies.answer_later(begun.reply)
    return begun


def _require_unfinished(conversation: Conversation, reply: Message) -> None:
    rows = Message.objects.filter(conversation=conversation, replaced_by=None)
    if rows.order_by("-created_at").values_list("pk", flat=True).first() != reply.pk:
        raise Conflict(_("Only the last message can be continued."), code="not_last")
    if reply.is_streaming:
        raise Conflict(_("The reply is still being written: stop it, or wait for it."), code="reply_running")
    if not end_reasons.can_continue(reply):
        raise Conflict(_("This reply is complete: there is nothing to continue."), code="whole")
    if state_of(conversation, reply) == "compressed":
        raise Conflict(_("The reply is part of a summary already. Undo the compaction, or ask for the rest."))
