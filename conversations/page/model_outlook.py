"""A sentence for the page: how a conversation fits into its model's context window."""

from __future__ import annotations

from django.utils.translation import gettext as _

from conversations.compaction import trigger
from conversations.context import transcript
from conversations.models import Conversation
from conversations.requests import usage
from conversations.runtime.amounts import amount


def outlook(conversation: Conversation) -> str:
    """A sentence about how the conversation fits into the model's window; "" without a model."""
    loaded = transcript.load(conversation.pk)
    used = usage.usage_of(loaded)
    if used is None:
        return ""
    window = amount(loaded.head.nominal_window or 0)
    if used.system > used.window.budget:
        words = _(
            "Its window is %(window)s tokens, and the system prompt alone takes %(taken)s: nothing fits beside it."
        )
        return words % {"window": window, "taken": amount(used.system)}
    due = trigger.compacts_at(loaded, used)
    if due and used.total >= due.tokens:
        return _("Its window is %(window)s tokens: this conversation is compacted at the next turn.") % {
            "window": window
        }
    words = _("Its window is %(window)s tokens; %(used)s of them are in use.")
    return words % {"window": window, "used": amount(used.total)}
