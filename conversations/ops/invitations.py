"""Invitations: links by which people make their own accounts."""

from __future__ import annotations

import secrets
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from conversations.models import Invitation, User


def new_token() -> str:
    """43 characters that nobody guesses (256 bits)."""
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def valid(token: str) -> Invitation | None:
    """The invitation with this token; None if it is used, has ended, or never was."""
    rows = Invitation.objects.filter(digest=digest_of(token), used_at=None, ends_at__gt=timezone.now())
    return rows.select_related("made_by").filter(made_by__is_active=True).first()


def accept(invitation: Invitation, user: User) -> User | None:
    """Store the new account of an invitation, once; None if the invitation was used or ended meanwhile."""
    with transaction.atomic():
        rows = Invitation.objects.filter(pk=invitation.pk, used_at=None, ends_at__gt=timezone.now())
        if not rows.update(used_at=timezone.now()):
            return None
        user.save()
        Invitation.objects.filter(pk=invitation.pk).update(account=user)
        return user
