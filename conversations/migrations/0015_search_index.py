"""The tables of the full-text index. It is filled in the background, however many messages there are."""

from typing import Any

from django.db import migrations

from conversations.memory import index_schema


def make_tables(*_: Any) -> None:
    index_schema.make_tables()


def drop(*_: Any) -> None:
    index_schema.drop()


class Migration(migrations.Migration):
    dependencies = [("conversations", "0014_copies_of_messages")]

    operations = [migrations.RunPython(make_tables, drop)]
