from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class ChatsiteConfig(AppConfig):
    name = "chatsite"

    def ready(self) -> None:
        if settings.METRICS_DIR:
            import_module("chatsite.tallies").begin()  # before anything that counts is imported
        import_module("chatsite.sign_ins").begin()
        if settings.CELERY_BROKER_URL:
            import_module("chatsite.celery")  # what is enqueued here goes to its broker
