from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate

INDEX = "conversations.search_index"


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from conversations import admission
        from conversations.runtime import audit, substring_lookup

        import_module("conversations.checks")  # registers the checks
        connection_created.connect(substring_lookup.prepare, dispatch_uid="holding")
        pre_migrate.connect(free_search_index, sender=self, dispatch_uid=INDEX)
        post_migrate.connect(keep_search_index, sender=self, dispatch_uid=INDEX)
        admission.begin()
        audit.begin()


def free_search_index(*, plan: list[Any], **_: Any) -> None:
    """Take the search index's triggers away while migrations run: SQLite makes altered tables anew."""
    from conversations.memory import index_schema
    from conversations.runtime.database import is_sqlite

    if plan and is_sqlite():
        index_schema.drop_triggers()


def keep_search_index(**_: Any) -> None:
    """Make what is missing of the search index, which is filled anew then."""
    from django.db import connection

    from conversations.memory import index_schema

    if {"conversations_message", "conversations_toolcall"} <= set(connection.introspection.table_names()):
        index_schema.install()
