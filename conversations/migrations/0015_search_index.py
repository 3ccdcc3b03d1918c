"""The tables and triggers of the full-text index. It is filled in the background, however many messages there are."""

from typing import Any

from django.db import migrations


def install(*_: Any) -> None:
    from conversations.context import index_schema

    index_schema.install()


def drop(*_: Any) -> None:
    from conversations.context import index_schema

    index_schema.drop()


class Migration(migrations.Migration):
    dependencies = [("conversations", "0014_copies_of_messages")]

    operations = [migrations.RunPython(install, drop)]
