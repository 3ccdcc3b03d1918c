from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate

INDEX = "conversations.search_index"


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from conversations import admission
        from conversations.runtime import substring_lookup

        import_module("conversations.checks")  # registers them
        connection_created.connect(substring_lookup.prepare, dispatch_uid="holding")
        post_migrate.connect(keep_search_index, sender=self, dispatch_uid=INDEX)
        admission.begin()


def keep_search_index(**_: Any) -> None:
    """On SQLite, a migration that makes a table anew takes its triggers away."""
    from django.db import connection

    from conversations.context import index_schema

    if {"conversations_message", "conversations_toolcall"} <= set(connection.introspection.table_names()):
        index_schema.install()
