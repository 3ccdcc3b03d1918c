"""Deletes a person's account with all that belongs to it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from conversations.errors import Conflict
from conversations.models import Conversation, User
from conversations.runtime import audit
from conversations.turns import conversations


def require_deletable(user: User) -> None:
    """Raise Conflict for the only account that administers the site."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise Conflict(_("Yours is the only account that administers this site. Make another one first."))


def delete(user: User) -> None:
    """Delete the account, its chats, files, keys and memory for good. Running replies are stopped first.

    Chats are deleted one by one: a large account holds no lock for long, and what is interrupted can be repeated.
    """
    require_deletable(user)
    for conversation in Conversation.objects.filter(owner=user, parent=None).only("pk").iterator():
        conversations.delete(conversation)
    audit.note(audit.Action.ACCOUNT_DELETED, user)
    user.delete()
