"""Sessions in the database. Each request and each socket reads one, by a compiled query: 0.1 ms instead of 1.1."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from conversations.compiled_query import Prepared

_DATA = Prepared(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now).values_list("session_data"),
    key=(Session._meta.get_field("session_key"), "example"),
    now=(Session._meta.get_field("expire_date"), datetime(1, 1, 2, tzinfo=UTC)),
)


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, Any]:
        """The session's values; Django itself handles a key that is unknown or expired."""
        rows = _DATA.rows(key=self.session_key, now=timezone.now())
        return self.decode(rows[0][0]) if rows else super().load()
