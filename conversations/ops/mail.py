"""Sends the site's mail in the background: no page waits for a mail server, or tells by its time who has an account."""

from __future__ import annotations

import logging
from threading import Thread

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.utils.translation import gettext as _

from conversations.models import User

logger = logging.getLogger(__name__)
LINK_SECONDS = 3_600
SALT = "email address"


def is_set_up() -> bool:
    return bool(settings.MAILERS)


def send(address: str, subject: str, *parts: str) -> None:
    """Send a mail of these paragraphs. A fault of the server goes to the log, without the address."""
    message = EmailMessage(subject, "\n\n".join(parts) + "\n", settings.EMAIL_FROM, [address])
    Thread(target=_deliver, args=(message,), name="mail", daemon=True).start()


def notify(user: User, change: str, *, address: str = "") -> None:
    """Tell a person of a change of their account; at `address` where that is no longer theirs."""
    if is_set_up() and (address or user.email):
        safety = _("If this was not you, ask whoever runs the site for help at once.")
        send(address or user.email, change, _("Hello %(name)s,") % {"name": user.get_username()}, change, safety)


def token_of(user: User, address: str) -> str:
    """A signed token that makes `address` the person's, once, within LINK_SECONDS."""
    return signing.dumps([user.pk, address, user.email], salt=SALT)


def change_of(token: str) -> tuple[User, str] | None:
    """The person and the address of a token; None if it has ended, was used, or was never made."""
    try:
        user_id, address, earlier = signing.loads(token, salt=SALT, max_age=LINK_SECONDS)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=user_id, email=earlier, is_active=True).first()
    return (user, address) if user and address != earlier else None


def _deliver(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception as fault:  # a server refuses in many ways, and nobody waits for the answer
        code = getattr(fault, "smtp_code", "")
        logger.error("mail.failed: %s %s; check EMAIL_URL and EMAIL_FROM", type(fault).__name__, code)
