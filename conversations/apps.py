from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        from conversations import admission, checks  # noqa: F401 - registers them

        admission.begin()
