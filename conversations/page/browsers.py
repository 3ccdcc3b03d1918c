"""Lists the browsers in which a person is signed in, and signs them out."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from allauth.usersessions.models import UserSession
from django.http import HttpRequest
from django.utils.translation import gettext as _

from conversations.models import User
from conversations.runtime import audit

BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "macOS")),
    *(("CrOS", "ChromeOS"), ("Linux", "Linux")),
)
"""Words of a browser's header, with the names that people know; the first that occurs counts."""


class Browser(NamedTuple):
    pk: int
    name: str
    ip: str
    created_at: datetime
    is_this: bool


def browsers_of(request: HttpRequest, user: User) -> list[Browser]:
    """The browsers with a session that still holds: this one first, then the newest."""
    here = request.session.session_key
    if not UserSession.objects.filter(session_key=here).exists():  # a new password gave the session another key
        UserSession.objects.create_from_request(request)
    found = [
        Browser(row.pk, name_of(row.user_agent), row.ip, row.created_at, row.session_key == here)
        for row in UserSession.objects.purge_and_list(user)
    ]
    return sorted(found, key=lambda one: (not one.is_this, -one.created_at.timestamp()))


def sign_out(request: HttpRequest, user: User, browser: int | None) -> int:
    """End the session of one browser, or of all but this one (None); returns the number of ended sessions."""
    rows = UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key)
    ended = list(rows if browser is None else rows.filter(pk=browser))
    for row in ended:
        row.end()
        audit.note(audit.Action.BROWSER_ENDED, user, f"address {row.ip}")
    return len(ended)


def name_of(user_agent: str) -> str:
    """The browser and the system of a User-Agent header, such as "Firefox on Linux"."""
    browser = next((name for word, name in BROWSERS if word in user_agent), _("A browser"))
    system = next((name for word, name in SYSTEMS if word in user_agent), "")
    return _("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser
