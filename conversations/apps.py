from importlib import import_module

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from conversations import admission
        from conversations.runtime import substring_lookup

        import_module("conversations.checks")  # registers them
        connection_created.connect(substring_lookup.prepare, dispatch_uid="holding")
        admission.begin()
