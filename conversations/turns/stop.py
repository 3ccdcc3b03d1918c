"""Stops a conversation's reply, whether this process, another one or none is writing it."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from conversations.compaction import cancel
from conversations.messages import reply_lease
from conversations.models import Conversation, Message
from conversations.runtime import relay
from conversations.runtime.event_types import Signal
from conversations.turns.recovery import Status, give_up, is_over
from conversations.turns.running_replies import in_progress, stop_here


def stop(conversation: Conversation) -> bool:
    """End the running reply and any compaction it waits for, and keep its text; False if no reply is running."""
    running = in_progress.get(conversation.pk)
    # First of all: a reply must not begin when the compaction that it waits for is cancelled.
    if running is not None:
        running.stopping = True
    else:
        reply_lease.ask_to_stop(conversation.pk)
    if running is None or running.makes_room or running.answer.sent is None:
        # The model is not asked yet: the reply waits for a compaction, or is about to.
        cancel.cancel_waited_for(conversation.pk)
    return stop_here(conversation.pk) or _stop_elsewhere(conversation.pk) or running is not None


def _stop_elsewhere(conversation_id: UUID) -> bool:
    """End a reply that no task of this process is writing; False if there is none."""
    while reply := Message.objects.streaming().filter(conversation_id=conversation_id).first():
        if reply.lease_token is None or is_over(reply, timezone.now()):
            if give_up(reply, status=Status.STOPPED):
                return True
        elif reply_lease.held(reply.pk, reply.lease_token).update(stopping_at=timezone.now()):
            relay.relay_event(relay.COMMANDS, conversation_id, Signal.REPLY_STOP)
            return True
        # The reply ended, or a worker took it up, just now. If it called tools, a next reply follows: look again.
    return False
