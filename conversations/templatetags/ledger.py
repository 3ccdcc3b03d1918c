"""Template filters of the ledger: its states, and why they changed, in words."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from conversations.models import LedgerEntry

register = template.Library()

REASONS = {
    "message": gettext_noop(", as it was said"),
    "person": gettext_noop(", by you"),
    "import": gettext_noop(", as an import puts nothing in force"),
    "budget": gettext_noop(", as there was no room among the rules"),
    "entry": gettext_noop(" by a later entry"),
    "history": gettext_noop(", as messages left or came back"),
}


@register.filter
def state_in_words(state: str) -> str:
    return str(LedgerEntry.State(state).label).lower() if state in LedgerEntry.State.values else ""


@register.filter
def chosen_by(by: str) -> str:
    """The reason of a change of state, as the end of a sentence."""
    return _(REASONS[by]) if by in REASONS else ""
