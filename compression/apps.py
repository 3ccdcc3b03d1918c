from django.apps import AppConfig


class CompressionConfig(AppConfig):
    name = "compression"

    def ready(self) -> None:
        from compression import conf  # noqa: F401 - registers its system checks
