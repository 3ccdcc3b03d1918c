"""SQLite and PostgreSQL differ in one module, and what that gives holds on both."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from conversations.models import User
from conversations.runtime import database


@pytest.mark.django_db
def test_rows_are_locked_where_there_can_be_several_writers(user: User) -> None:
    with CaptureQueriesContext(connection) as asked, transaction.atomic():
        database.lock_rows(User.objects.filter(pk=user.pk))
    locks = [query["sql"] for query in asked if "FOR NO KEY UPDATE" in query["sql"]]
    assert len(locks) == (0 if database.is_sqlite() else 1)


@pytest.mark.django_db
def test_a_failed_query_that_was_in_time_says_why_by_itself() -> None:
    with pytest.raises(Exception, match="no_such_table") as raised, database.time_limit(5), transaction.atomic():
        User.objects.raw("SELECT * FROM no_such_table")[0]
    assert not isinstance(raised.value, database.TookTooLong)
