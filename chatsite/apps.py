from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class ChatsiteConfig(AppConfig):
    name = "chatsite"

    def ready(self) -> None:
        if settings.METRICS_DIR:
            import_module("chatsite.multiprocess_metrics").begin()  # before any module with metrics is imported
        import_module("chatsite.sign_ins").begin()
        if not import_module("conversations.runtime.queue").is_here():
            import_module("chatsite.celery")  # so that tasks enqueued here go to its broker
