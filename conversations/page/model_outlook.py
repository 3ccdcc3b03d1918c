"""A sentence for the page: how a conversation fits into its model's context window."""

from __future__ import annotations

from conversations.compaction import trigger
from conversations.context import transcript, usage
from conversations.models import Conversation


def outlook(conversation: Conversation) -> str:
    """How the conversation as it is fits into the model's window, in words; "" without a model."""
    loaded = transcript.load(conversation.pk)
    used = usage.usage_of(loaded)
    if used is None:
        return ""
    window = f"Its window is {loaded.head.nominal_window:,} tokens"
    if used.system > used.window.budget:
        return f"{window}, and the system prompt alone takes {used.system:,}: nothing fits beside it."
    due = trigger.compacts_at(loaded, used)
    if due and used.total >= due.tokens:
        return f"{window}: this conversation is compacted at the next turn."
    return f"{window}; {used.total:,} of them are in use."
