"""Template filters of the ledger: its states, and why they changed, in words."""

from __future__ import annotations

from django import template

from conversations.models import LedgerEntry

register = template.Library()

REASONS = {
    "message": ", as it was said",
    "person": ", by you",
    "import": ", as an import puts nothing in force",
    "budget": ", as there was no room among the rules",
    "entry": " by a later entry",
    "history": ", as messages left or came back",
}


@register.filter
def state_in_words(state: str) -> str:
    return LedgerEntry.State(state).label.lower() if state in LedgerEntry.State.values else ""


@register.filter
def chosen_by(by: str) -> str:
    """The reason of a change of state, as the end of a sentence."""
    return REASONS.get(by, "")
