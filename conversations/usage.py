"""How full a conversation's window is."""

from __future__ import annotations

import contextlib
from uuid import UUID

from compression.core.values import Usage
from conversations import prompt, transcript
from conversations.events import hub, publish
from conversations.models import Conversation
from conversations.shapes import usage_json
from conversations.transcript import Loaded


def of(conversation: Conversation) -> Usage | None:
    """Tokens of the next request by part; None where no model is set."""
    return measured(transcript.load(conversation.pk))


def measured(loaded: Loaded) -> Usage | None:
    return loaded.usage(system_tokens=prompt.system_tokens(loaded.head))


def tell(conversation_id: UUID) -> None:
    """Tell those who listen how full the window is now."""
    if not hub.is_heard(conversation_id):
        return
    with contextlib.suppress(Conversation.DoesNotExist):  # deleted meanwhile
        if usage := measured(transcript.load(conversation_id)):
            publish(conversation_id, "usage.updated", **usage_json(usage))
