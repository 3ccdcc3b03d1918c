"""Tables that tests share: what Django writes into them after each migration is the same for all, and writing it anew
after each test takes 50 ms.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.contenttypes.management import create_contenttypes
from django.db.models.signals import post_migrate

from conversations.memory import index_schema
from conversations.runtime.database import is_sqlite

KEPT = ("django_content_type", "auth_permission")


def emptied(tables: Iterable[str]) -> list[str]:
    """Those whose rows belong to a test; the search index last, as triggers note what is deleted."""
    terms = [index_schema.TERMS] if is_sqlite() else []
    index = [index_schema.INDEXED, *terms, index_schema.STATE, index_schema.UNINDEXED]
    return [*(table for table in tables if table not in KEPT), *index]


def keep() -> None:
    """Once the database of the tests is made: emptying it fills nothing anew."""
    from conversations.apps import INDEX

    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid=INDEX)
