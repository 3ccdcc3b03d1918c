"""Saves whose process is killed before each of their statements, and before and after each commit.

`python -m tests.faults.killed_saves [EVERY]` works on the database of the environment, which must be empty and may be
copied. It kills at every statement, or at every EVERYth, and prints the kills by save as JSON. It ends with an error
where a kill left a part of a save.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import django

MOST_STATEMENTS = 400
"""Statements that a save may need here."""

Rows = dict[str, list[tuple[Any, ...]]]


class Copies:
    """The database as it was before a save, to be put back after each kill."""

    def __init__(self) -> None:
        from django.db import connection

        self.connection = connection
        self.name = str(connection.settings_dict["NAME"])
        self.is_sqlite = connection.vendor == "sqlite"

    def keep(self) -> None:
        self._copy(self.name, f"{self.name}_before")

    def put_back(self) -> None:
        self._copy(f"{self.name}_before", self.name)

    def _copy(self, source: str, target: str) -> None:
        if self.is_sqlite:
            self.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()
        if self.is_sqlite:
            for end in ("-wal", "-shm"):
                Path(target + end).unlink(missing_ok=True)
            shutil.copy(source, target)
            return
        with self.connection._nodb_cursor() as cursor:  # as Django makes a test's database
            cursor.execute(f'DROP DATABASE IF EXISTS "{target}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{target}" TEMPLATE "{source}"')
        self.connection.close()


def killed_before(number: int, save: Callable[[], object]) -> bool:
    """Carry the save out in a process that is killed before its statement of this number; False if it has fewer."""
    from django.db import connections

    connections.close_all()
    pid = os.fork()
    if pid:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, -signal.SIGKILL), f"the save itself failed with {code}"
        return code != 0
    try:
        _count_statements(number)
        save()
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)


def _count_statements(number: int) -> None:
    """From now on the statement of this number ends the process; a commit counts as two, before and after it."""
    from django.db import connection

    connection.ensure_connection()
    left = number
    commit = connection._commit

    def step() -> None:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        step()
        return execute(sql, params, many, context)

    def watched_commit() -> Any:
        step()
        commit()
        step()

    connection.execute_wrappers.append(watch)
    connection._commit = watched_commit


def shape(rows: Rows, before: Rows) -> Rows:
    """The rows with the values that differ each time (moments, new ids, random tokens) replaced by their kind."""
    known = {value for table in before.values() for row in table for value in row if isinstance(value, UUID | str)}

    def masked(value: object) -> object:
        if isinstance(value, datetime):
            return "moment"
        if isinstance(value, UUID | str) and value not in known:
            return type(value).__name__
        return repr(value) if isinstance(value, dict | list) and len(repr(value)) < 20 else type(value).__name__

    return {name: sorted((tuple(map(masked, row)) for row in table), key=repr) for name, table in rows.items()}


def saves() -> Iterator[tuple[str, Callable[[], object]]]:
    """Each save by name; the database is ready for it when it is given out."""
    from django.core.serializers.json import DjangoJSONEncoder

    from conversations.exchange.exports import as_json
    from conversations.exchange.imports import import_conversations
    from conversations.messages import replies
    from conversations.messages.answer import Answer
    from conversations.models import Conversation, ModelProfile, User
    from conversations.turns import begin
    from tests.conversations.chat import fill
    from tests.conversations.messages.test_half_written import VERBS, commit

    user = User.objects.create_user("alice")
    profile = ModelProfile.objects.create(name="m", model_id="m", base_url="http://127.0.0.1:9/v1", window=16_000)
    own = Conversation.objects.create(owner=user, model=profile, title="Ports")
    fill(own, 20)
    put_in_force = commit(own)
    yield "a compaction", put_in_force
    put_in_force()
    own.refresh_from_db()
    for name, verb in VERBS.items():
        yield name, verb(own)
    reply = begin.begin(own, content="What was port 3?").reply
    answer = Answer(reply.pk, pieces=["Port 5003, as you wrote."])
    yield "the end of a reply", lambda: replies.finish(answer, reply.lease_token, status="complete", tokens=9)
    own.refresh_from_db()
    payload = json.dumps(as_json(own), cls=DjangoJSONEncoder).encode()
    yield "an import with its compactions", lambda: import_conversations(user, payload)


def main(every: int) -> None:
    django.setup()
    from django.core.management import call_command

    from conversations.runtime import queue
    from tests.conversations.messages.test_half_written import rows

    call_command("migrate", verbosity=0)
    queue.attach(asyncio.new_event_loop())  # the work that a save asks for waits: no loop runs
    copies, kills = Copies(), {}
    for name, save in saves():
        copies.keep()
        before = rows()
        assert not killed_before(MOST_STATEMENTS, save)
        whole = shape(rows(), before)
        assert whole != shape(before, before), f"{name} changed nothing"
        kills[name] = 0
        for number in range(0, MOST_STATEMENTS, every):
            copies.put_back()
            if not killed_before(number, save):
                break
            kills[name] += 1
            left = rows()
            assert left == before or shape(left, before) == whole, f"{name}: a part is stored of kill {number}"
        copies.put_back()
    print(json.dumps(kills))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1)
