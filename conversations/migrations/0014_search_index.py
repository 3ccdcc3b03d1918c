"""The tables and triggers of the full-text index. It is filled in the background, however many messages there are."""

from typing import Any

from django.db import migrations


def install(*_: Any) -> None:
    from conversations.messages import schema

    schema.install()


def drop(*_: Any) -> None:
    from conversations.messages import schema

    schema.drop()


class Migration(migrations.Migration):
    dependencies = [("conversations", "0013_origin_of_words")]

    operations = [migrations.RunPython(install, drop)]
