from django.apps import AppConfig


class ChatsiteConfig(AppConfig):
    name = "chatsite"
