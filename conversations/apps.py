from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from conversations import admission, checks, holding  # noqa: F401 - registers them

        connection_created.connect(holding.prepare, dispatch_uid="holding")
        admission.begin()
