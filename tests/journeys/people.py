"""Accounts made ahead, each signed in: `python -m tests.journeys.people COUNT` prints their sessions as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import django

from tests.journeys.site import PASSWORD


def make(names: Iterable[str]) -> dict[str, str]:
    """Session keys by username; all are administrators, as who sets up a site is."""
    from django.contrib.auth import BACKEND_SESSION_KEY as BACKEND_KEY
    from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.hashers import make_password
    from django.contrib.sessions.backends.db import SessionStore

    from conversations.models import User

    password = make_password(PASSWORD)
    rows = [User(username=name, password=password, is_staff=True, is_superuser=True) for name in names]
    sessions = {}
    for user in User.objects.bulk_create(rows):
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        sessions[user.username] = session.session_key
    return sessions


if __name__ == "__main__":
    django.setup()
    print(json.dumps(make(f"alice{n}" for n in range(int(sys.argv[1])))))
