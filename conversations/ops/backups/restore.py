"""Restores a backup: all rows of the file in one transaction, or none."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched, groupby
from operator import itemgetter
from typing import Any, BinaryIO

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction
from django.db.models import DateField, Model
from django.utils import timezone

from compression.core.error_codes import ErrorCode
from compression.models import Compaction, PromptTemplate
from conversations.compaction.lease import ABANDONED
from conversations.errors import Refused
from conversations.messages import replies
from conversations.models import AgentRun, Conversation, Message, ModelProfile, ToolCall, ToolServer, User
from conversations.models.encrypted import decrypt
from conversations.ops.backups.file_format import read_rows
from conversations.ops.backups.tables import Permissions, Table, migrations, permissions, tables
from conversations.runtime import database

NAMED = {
    "conversations.user": "users",
    "conversations.conversation": "conversations",
    "conversations.message": "messages",
}

CUT_OFF = "The backup was taken while this was going on."


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The number of restored rows by table, and the models and servers whose secrets this SECRET_KEY cannot decrypt."""

    counts: dict[str, int]
    unreadable: list[str]


def restore(file: BinaryIO, *, replace: bool = False) -> RestoreResult:
    """Fill an empty database from `file`; with `replace`, empty it first. Raises Refused; nothing has changed then."""
    applied = migrations()
    deque(read_rows(file, applied), maxlen=0)  # to its end: the file is sound before anything is written
    try:
        with transaction.atomic():
            database.lock_tables(table.model for table in tables())
            if not replace:
                _require_empty()
            _empty()
            counts = _store(file, applied)
            _settle()
            _reset_sequences()
    except (DatabaseError, ValidationError, ValueError, TypeError, OverflowError) as error:
        raise Refused(f"The rows cannot be stored ({first_line(error)}). Nothing was restored.") from error
    return RestoreResult(counts, _unreadable())


def _require_empty() -> None:
    """Raise Refused unless the database is empty. Models from the environment do not count: a server creates them."""
    made = {
        "users": User.objects.count(),
        "conversations": Conversation.objects.count(),
        "groups": Group.objects.count(),
        "models added by hand": ModelProfile.objects.filter(from_environment=False).count(),
        "servers of tools": ToolServer.objects.count(),
        "prompt templates": PromptTemplate.objects.count(),
    }
    there = ", ".join(f"{count:,} {what}" for what, count in made.items() if count)
    if there:
        raise Refused(f"The database is not empty: it holds {there}. --replace deletes them first.")


def _empty() -> None:
    for table in reversed(tables()):
        rows = table.model._base_manager.all()
        if table.model is User:
            rows.delete()  # with the admin's log of them
        else:
            rows._raw_delete(rows.db)  # what refers to them is gone already


def _store(file: BinaryIO, applied: dict[str, list[str]]) -> dict[str, int]:
    names = permissions()
    counts: Counter[str] = Counter()
    for table, rows in groupby(read_rows(file, applied), key=itemgetter(0)):
        for batch in batched(rows, table.batch):
            _insert(table, [row for _, row in batch], names)
            counts[table.label] += len(batch)
    return dict(counts)


def _insert(table: Table, rows: Sequence[list[Any]], names: Permissions) -> None:
    instances = [table.instance(row, names) for row in rows]
    dates = [field.attname for field in table.fields if isinstance(field, DateField) and _is_automatic(field)]
    exact = [(row.pk, {name: getattr(row, name) for name in dates}) for row in instances]
    table.model._base_manager.bulk_create(instances)
    if dates:  # which bulk_create sets to now
        for pk, values in exact:
            table.model._base_manager.filter(pk=pk).update(**values)


def _is_automatic(field: DateField[Any, Any]) -> bool:
    return field.auto_now or field.auto_now_add


def _settle() -> None:
    """End all work that the rows mark as running, as a server does at its start."""
    for reply in Message.objects.streaming():
        replies.give_up(
            reply, status=Message.Status.INTERRUPTED, error=replies.INTERRUPTED, error_code=ErrorCode.WORKER_STOPPED
        )
    Compaction.objects.filter(status__in=Compaction.ACTIVE).update(
        status=Compaction.Status.FAILED,
        error=ABANDONED,
        error_code=ErrorCode.WORKER_STOPPED,
        finished_at=timezone.now(),
    )
    ToolCall.objects.filter(status__in=ToolCall.UNFINISHED).update(status=ToolCall.Status.FAILED, error=CUT_OFF)
    AgentRun.objects.filter(status=AgentRun.Status.RUNNING).update(
        status=AgentRun.Status.FAILED, error=CUT_OFF, finished_at=timezone.now()
    )


def _reset_sequences() -> None:
    models: list[type[Model]] = [table.model for table in tables()]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _unreadable() -> list[str]:
    """The names of rows whose secret is stored but cannot be decrypted; it reads as empty then."""
    secrets = ((ModelProfile, "api_key"), (ToolServer, "environment"), (ToolServer, "headers"))
    stored = (model._base_manager.exclude(**{name: ""}).values_list("name", name) for model, name in secrets)
    names = [name for rows in stored for name, secret in rows if not secret]
    steps = Authenticator.objects.filter(type=Authenticator.Type.TOTP).values_list("user__username", "data__secret")
    names += [f"the two-step sign-in of {name}" for name, secret in steps if not decrypt(secret)]
    return list(dict.fromkeys(names))


def summary(counts: dict[str, int]) -> str:
    named = ", ".join(f"{counts.get(label, 0):,} {what}" for label, what in NAMED.items())
    return f"{sum(counts.values()):,} rows ({named})"


def first_line(error: Exception) -> str:
    """The first line of an error, without the details that databases add."""
    text = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
    return next(iter(text.splitlines()), type(error).__name__)
