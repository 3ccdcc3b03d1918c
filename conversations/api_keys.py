"""Creates, lists, revokes and checks the API keys by which programs act for a person."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from conversations import admission, limits
from conversations.errors import Conflict, Invalid, NotFound
from conversations.models import ApiKey, Project, Spending, User
from conversations.models.api_key import digest, key_of
from conversations.runtime import audit, log_context
from conversations.spending import this_month
from conversations.validation import clean_text

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
MAX_NAME = 100
MAX_KEYS = 50
"""The most keys of a person in use at once."""
REVOKED_SHOWN = timedelta(days=30)
"""Time after which a revoked key leaves the list; its row stays."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its plain text, which is not stored."""

    key: ApiKey
    plain: str = field(repr=False)


def create_key(user: AbstractBaseUser, name: str) -> NewKey:
    """Create a key. Raises Invalid, or Conflict if the person has MAX_KEYS already."""
    name = " ".join(clean_text("name", name, limit=MAX_NAME).split())
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # a person's requests count one after the other
        if _mine(user).filter(revoked_at=None).count() >= MAX_KEYS:
            raise Conflict(
                _("You have %(number)s keys, the most that are allowed. Revoke one first.") % {"number": MAX_KEYS},
                code="too_many_keys",
                limit=MAX_KEYS,
            )
        made = NewKey(*ApiKey.make(user, name))
        audit.note(audit.Action.KEY_MADE, user, f"key {made.key.pk}")
        return made


def revoke_key(user: AbstractBaseUser, key_id: int) -> ApiKey:
    """Revoke a key, at once; a key that was revoked before stays unchanged. Raises NotFound."""
    if _mine(user).filter(pk=key_id, revoked_at=None).update(revoked_at=timezone.now()):
        admission.publish_access_change()  # closes the connections that this key has opened
        audit.note(audit.Action.KEY_REVOKED, user, f"key {key_id}")
    key = _mine(user).filter(pk=key_id).first()
    if key is None:
        raise NotFound(_("You have no such key."))
    return key


def let_search(user: AbstractBaseUser, key_id: int, *, on: bool) -> ApiKey:
    """Let models that answer calls of the key search compacted histories, or not. Raises NotFound."""
    if not _mine(user).filter(pk=key_id, revoked_at=None).update(searches_history=on):
        raise NotFound(_("You have no such key."))
    return _mine(user).get(pk=key_id)


def give_project(user: AbstractBaseUser, key_id: int, project: Project | None) -> ApiKey:
    """Have the key's calls of the gateway belong to a project of the person, or to none. Raises NotFound."""
    if not _mine(user).filter(pk=key_id, revoked_at=None).update(project=project):
        raise NotFound(_("You have no such key."))
    return _mine(user).select_related("project").get(pk=key_id)


def set_budget(user: AbstractBaseUser, key_id: int, *, tokens: str, usd: str) -> ApiKey:
    """Set the key's monthly budget: whole tokens and US dollars as decimal numbers, "" for no limit.

    Raises Invalid, NotFound.
    """
    limits_of_key = {"monthly_tokens": _amount("monthly_tokens", tokens), "monthly_usd": _amount("monthly_usd", usd)}
    if not _mine(user).filter(pk=key_id, revoked_at=None).update(**limits_of_key):
        raise NotFound(_("You have no such key."))
    return _mine(user).get(pk=key_id)


def _amount(name: str, text: str) -> Any:
    """The value of a field of ApiKey from a form, with commas between thousands or one as decimal point.

    None for "". Raises Invalid.
    """
    field: Any = ApiKey._meta.get_field(name)
    text = text.strip()
    text = text.replace(",", "" if _THOUSANDS.fullmatch(text) else ".")
    try:
        return field.clean(text or None, None)
    except ValidationError as error:
        raise Invalid(f"{name}: {' '.join(error.messages)}", field=name) from None


def revoke_all(user: AbstractBaseUser) -> int:
    """Revoke all keys of a person, at once; returns how many were valid."""
    ended = _mine(user).filter(revoked_at=None).update(revoked_at=timezone.now())
    if ended:
        admission.publish_access_change()
        audit.note(audit.Action.KEY_REVOKED, user, f"{ended} keys")
    return ended


def key_in(authorization: str, x_api_key: str) -> str:
    """The key in a request's headers of these names, as a bearer or by itself; "" without one."""
    kind, _, plain = authorization.partition(" ")
    return plain.strip() if kind.lower() == "bearer" else x_api_key.strip()


def let_in(plain: str, *, address: str) -> ApiKey | None:
    """The valid key with this text, counting one request of its owner; None if there is none, counting a guess.

    Raises TooMany for too many requests or guesses.
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
    """A person's keys in use, the newest first, then the recently revoked ones."""
    shown = Q(revoked_at=None) | Q(revoked_at__gt=timezone.now() - REVOKED_SHOWN)
    month = Spending.objects.filter(key=OuterRef("pk"), month=this_month())
    spent = {"spent_tokens": Subquery(month.values("tokens")), "spent_usd": Subquery(month.values("usd"))}
    return (
        _mine(user)
        .filter(shown)
        .annotate(**spent)
        .order_by(F("revoked_at").desc(nulls_first=True), "-created_at", "-pk")
    )


def _mine(user: AbstractBaseUser) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(user_id=user.pk)
