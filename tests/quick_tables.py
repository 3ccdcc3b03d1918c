"""Tables that tests share: what Django writes into them after each migration is the same for all, and writing it anew
after each test takes 50 ms.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.contenttypes.management import create_contenttypes
from django.db.models.signals import post_migrate

KEPT = ("django_content_type", "auth_permission")


def emptied(tables: Iterable[str]) -> list[str]:
    """Those whose rows belong to a test."""
    return [table for table in tables if table not in KEPT]


def keep() -> None:
    """Once the database of the tests is made: emptying it fills nothing anew."""
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")
    post_migrate.disconnect(create_contenttypes)
