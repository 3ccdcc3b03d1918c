"""Defines a backup's content: its tables, their order, and each row as JSON."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.migrations import operations
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import BinaryField, ExpressionWrapper, F, Field, ForeignKey, JSONField, Model, TextField, Value

from conversations.errors import Refused
from conversations.models import User
from conversations.models.encrypted import EncryptedTextField

APPS = ("conversations", "compression")
PEOPLE: tuple[type[Model], ...] = (
    Group,
    User,
    Authenticator,
    EmailAddress,
    SocialAccount,
    Group.permissions.through,
    User.groups.through,
    User.user_permissions.through,
)
BATCH = 100
"""Rows that are in memory at a time."""
FILES = 4
"""Rows with a file each that are in memory at a time."""

Permissions = dict[int, list[str]]
Key = tuple[str, str]
"""(app, name) of a migration."""
ADDITIONS = (
    operations.AddField, operations.AlterField, operations.CreateModel, operations.AlterModelOptions,
    operations.AddIndex, operations.RemoveIndex, operations.RenameIndex,
    operations.AddConstraint, operations.RemoveConstraint,
)  # fmt: skip
"""Changes of a database after which rows from before need no more than the defaults of new fields."""


@dataclass(frozen=True)
class Table:
    """A table, with all its fields or with those of an earlier version."""

    model: type[Model]
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.model._meta.label_lower

    @cached_property
    def fields(self) -> list[Field[Any, Any]]:
        every = {field.attname: field for field in self.model._meta.concrete_fields}
        return [every[name] for name in self.names or every]

    @property
    def head(self) -> dict[str, Any]:
        return {"table": self.label, "fields": [field.attname for field in self.fields]}

    def part(self, names: list[Any]) -> Table | None:
        """The table with these fields alone; None if it lacks one of them."""
        known = {field.attname for field in self.fields}
        are_known = all(isinstance(name, str) and name in known for name in names) and len(set(names)) == len(names)
        return Table(self.model, tuple(names)) if names and are_known else None

    def count(self) -> int:
        return self.model._base_manager.count()

    def rows(self, permissions: Permissions) -> Iterator[list[Any]]:
        stored = self.model._base_manager.order_by("pk").values_list(*map(_as_stored, self.fields))
        for row in stored.iterator(self.batch):
            yield [_to_json(*pair, permissions) for pair in zip(self.fields, row, strict=True)]

    @property
    def batch(self) -> int:
        return FILES if any(isinstance(field, BinaryField) for field in self.fields) else BATCH

    def instance(self, row: list[Any], permissions: Permissions) -> Model:
        """The model's instance of a row. Raises ValidationError, or any error that a value of another type causes."""
        values = zip(self.fields, row, strict=True)
        return self.model(**{field.attname: _from_json(field, value, permissions) for field, value in values})


def tables() -> list[Table]:
    """Our own tables and that of the users, each after those that its foreign keys refer to."""
    own = [model for app in APPS for model in apps.get_app_config(app).get_models(include_auto_created=True)]
    kept = [*PEOPLE, *own]
    needs = {model: [needed for needed in _needed(model) if needed in kept] for model in kept}
    return [Table(model) for model in TopologicalSorter(needs).static_order()]


def permissions() -> Permissions:
    """(app, model, codename) of each permission by its number, which differs between databases."""
    rows = Permission.objects.values_list("pk", "content_type__app_label", "content_type__model", "codename")
    return {pk: names for pk, *names in rows}


def migrations() -> dict[str, list[str]]:
    """The applied migrations by app. Raises Refused if the database differs from the code."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise Refused("The database is not up to date: run `python manage.py migrate` first.")
    labels = {table.model._meta.app_label for table in tables()}
    applied = [key for key in MigrationRecorder(connection).applied_migrations() if key[0] in labels]
    return squashed({label: [name for app, name in applied if app == label] for label in labels})


def only_add(keys: set[Key]) -> bool:
    """Whether rows from before these migrations fit the database after them."""
    known = MigrationLoader(None).disk_migrations
    return all(
        isinstance(change, ADDITIONS) for key in keys for change in (known[key].operations if key in known else [None])
    )


def squashed(applied: dict[str, list[str]]) -> dict[str, list[str]]:
    """Migrations by app, in the order of their names. One that replaces others stands for them if all were applied."""
    keys = {(app, name) for app, names in applied.items() for name in names}
    for key, migration in MigrationLoader(None).disk_migrations.items():
        if migration.replaces and keys.issuperset(migration.replaces):
            keys = keys.difference(migration.replaces) | {key}
    return {app: sorted(name for of, name in keys if of == app) for app in sorted(applied)}


def _needed(model: type[Model]) -> list[Any]:
    fields = [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]
    return [field.related_model for field in fields if field.related_model is not model]


def _as_stored(field: Field[Any, Any]) -> F | ExpressionWrapper:
    """The value as the database stores it: secrets stay encrypted."""
    column = F(field.attname)
    return ExpressionWrapper(column, TextField()) if isinstance(field, EncryptedTextField) else column


def _to_json(field: Field[Any, Any], value: Any, permissions: Permissions) -> Any:
    if field.related_model is Permission:
        return permissions[value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return b64encode(value).decode()
    return str(value) if isinstance(value, uuid.UUID | Decimal | date) else value


def _from_json(field: Field[Any, Any], value: Any, permissions: Permissions) -> Any:
    if value is None or isinstance(field, JSONField):
        return value
    if field.related_model is Permission:
        return _permission(value, permissions)
    if isinstance(field, EncryptedTextField):
        return Value(value, TextField())
    return field.to_python(value)


def _permission(names: Any, permissions: Permissions) -> int:
    for pk, found in permissions.items():
        if found == names:
            return pk
    raise Refused(f"There is no permission {names} in this database. Nothing was restored.")
