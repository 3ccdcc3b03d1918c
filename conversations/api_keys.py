"""Keys that a person gives to programs: made, listed, taken back, and what lets a program in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from conversations import admission, limits
from conversations.errors import Conflict, NotFound
from conversations.models import ApiKey
from conversations.models.api_key import digest, key_of
from conversations.runtime import log_context
from conversations.validation import clean_text

MAX_NAME = 100
MAX_KEYS = 50
"""Keys that are in use at once."""
REVOKED_SHOWN = timedelta(days=30)
"""After which one that was revoked leaves the list; its row stays."""


@dataclass(frozen=True, slots=True)
class Made:
    """A new key, and its plain text, which is known only now."""

    key: ApiKey
    plain: str = field(repr=False)


def create_key(user: AbstractBaseUser, name: str) -> Made:
    """Raises Invalid, or Conflict where there are as many as may be."""
    name = " ".join(clean_text("name", name, limit=MAX_NAME).split())
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # one's own are counted one after the other
        if _mine(user).filter(revoked_at=None).count() >= MAX_KEYS:
            raise Conflict(
                f"You have {MAX_KEYS} keys, as many as may be. Revoke one first.", code="too_many_keys", limit=MAX_KEYS
            )
        return Made(*ApiKey.make(user, name))


def revoke_key(user: AbstractBaseUser, key_id: int) -> ApiKey:
    """From now on it lets nobody in; one that was revoked before stays as it is. Raises NotFound."""
    if _mine(user).filter(pk=key_id, revoked_at=None).update(revoked_at=timezone.now()):
        admission.tell()  # what it has open is closed
    key = _mine(user).filter(pk=key_id).first()
    if key is None:
        raise NotFound("You have no such key.")
    return key


def let_in(plain: str, *, address: str) -> ApiKey | None:
    """The key with this text, one request of its owner counted; None, and a guess counted, where there is none.

    Raises TooMany for too many of either.
    """
    hashed = digest(plain)
    limits.require_guesses(address, digest=hashed)
    key = key_of(plain)
    if key is None:
        limits.note_guess(address)
        return None
    log_context.bind(user_id=key.user_id)
    limits.note_right(hashed)
    limits.require_rate(key.user_id)
    return key


def listed_keys(user: AbstractBaseUser) -> QuerySet[ApiKey]:
    """Those in use, the newest first, then those that were revoked lately."""
    shown = Q(revoked_at=None) | Q(revoked_at__gt=timezone.now() - REVOKED_SHOWN)
    return _mine(user).filter(shown).order_by(F("revoked_at").desc(nulls_first=True), "-created_at", "-pk")


def _mine(user: AbstractBaseUser) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(user_id=user.pk)
