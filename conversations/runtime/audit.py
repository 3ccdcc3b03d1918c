"""Appends to the audit log: sign-ins, keys, shares, exports, and acts of administrators. Nothing changes an entry."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_save

from conversations.models import AuditEntry, User

Action = AuditEntry.Action
ADDED = {Authenticator.Type.TOTP: Action.SECOND_STEP_ON, Authenticator.Type.WEBAUTHN: Action.PASSKEY_ADDED}
REMOVED = {Authenticator.Type.TOTP: Action.SECOND_STEP_OFF, Authenticator.Type.WEBAUTHN: Action.PASSKEY_REMOVED}


def note(action: AuditEntry.Action, person: AbstractBaseUser | AnonymousUser | None, subject: str = "") -> None:
    """Append an entry; `subject` names the object by its kind and id, never by its text."""
    is_known = person is not None and person.pk is not None
    AuditEntry.objects.create(
        action=action,
        person_id=person.pk if is_known and person else None,
        person_name=person.get_username() if is_known and person else "",
        subject=subject,
        address=_address(),
    )


def begin() -> None:
    """Connect the signals of acts that libraries carry out."""
    user_logged_in.connect(_signed_in, dispatch_uid="audit")
    user_logged_out.connect(_signed_out, dispatch_uid="audit")
    user_login_failed.connect(_failed, dispatch_uid="audit")
    post_save.connect(_account_saved, sender=User, dispatch_uid="audit")
    post_save.connect(_administered, sender=LogEntry, dispatch_uid="audit")
    authenticator_added.connect(_authenticator_added, dispatch_uid="audit")
    authenticator_removed.connect(_authenticator_removed, dispatch_uid="audit")


def _signed_in(user: AbstractBaseUser, **_: Any) -> None:
    note(Action.SIGNED_IN, user)


def _signed_out(user: AbstractBaseUser | None, **_: Any) -> None:
    if user is not None and user.pk is not None:
        note(Action.SIGNED_OUT, user)


def _failed(credentials: dict[str, Any], **_: Any) -> None:
    """Log the typed name only if an account has it: people type passwords into the name's field."""
    note(Action.SIGN_IN_FAILED, User.objects.filter(username=str(credentials.get("username", ""))[:150]).first())


def _account_saved(instance: User, created: bool, **_: Any) -> None:
    if created:
        note(Action.ACCOUNT_MADE, instance)


def _administered(instance: LogEntry, **_: Any) -> None:
    kind = instance.content_type.model if instance.content_type else ""
    act = {1: "added", 2: "changed", 3: "deleted"}.get(instance.action_flag, "")
    note(Action.ADMINISTERED, instance.user, f"{act} {kind} {instance.object_id}"[:200])


def _authenticator_added(user: AbstractBaseUser, authenticator: Authenticator, **_: Any) -> None:
    if action := ADDED.get(authenticator.type):
        note(action, user)


def _authenticator_removed(user: AbstractBaseUser, authenticator: Authenticator, **_: Any) -> None:
    if action := REMOVED.get(authenticator.type):
        note(action, user)


def _address() -> str:
    """The address of the present request; "" outside of one."""
    request = getattr(context, "request", None)
    return get_adapter().get_client_ip(request)[:45] if request is not None else ""
