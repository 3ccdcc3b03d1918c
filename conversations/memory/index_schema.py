"""The tables of the full-text index, and the triggers that note the messages to index.

They have no models: everything is derived from the messages, and can be dropped and rebuilt at any time. A trigger sees
every kind of write: single rows and many, imports, restored backups, forks, and cascading deletions.
"""

from __future__ import annotations

from django.db import connection, transaction

from conversations.runtime.database import is_sqlite

INDEXED, TERMS, UNINDEXED, STATE = (
    "conversations_indexed",
    "conversations_terms",
    "conversations_unindexed",
    "conversations_index",
)

_TRIGGERS = {
    "message_said": ("AFTER INSERT", "message", "NEW.status <> 'streaming'", "NEW.conversation_id", "NEW.id"),
    "message_changed": (
        "AFTER UPDATE OF content, status, replaced_by_id, name",
        "message",
        "NEW.status <> 'streaming' AND (NEW.content <> OLD.content OR NEW.status <> OLD.status OR NEW.name <> OLD.name"
        " OR COALESCE(NEW.replaced_by_id, NEW.id) <> COALESCE(OLD.replaced_by_id, OLD.id))",
        "NEW.conversation_id",
        "NEW.id",
    ),
    "message_gone": ("AFTER DELETE", "message", "1 = 1", "OLD.conversation_id", "OLD.id"),
    "call_told": ("AFTER INSERT", "toolcall", "NEW.result IS NOT NULL", "", "NEW.message_id"),
    "call_changed": (
        "AFTER UPDATE OF result",
        "toolcall",
        "COALESCE(NEW.result, '') <> COALESCE(OLD.result, '')",
        "",
        "NEW.message_id",
    ),
    "call_gone": ("AFTER DELETE", "toolcall", "OLD.result IS NOT NULL", "", "OLD.message_id"),
}
"""The triggers by name: event, table, condition, and the ids of the conversation and the message that they note."""

_SQLITE = (
    f"""CREATE TABLE IF NOT EXISTS {INDEXED} (id integer PRIMARY KEY AUTOINCREMENT, message_id char(32) NOT NULL UNIQUE,
        conversation_id char(32) NOT NULL, number integer NULL)""",
    f"CREATE INDEX IF NOT EXISTS {INDEXED}_number ON {INDEXED} (conversation_id, number)",
    f"""CREATE VIRTUAL TABLE IF NOT EXISTS {TERMS}
        USING fts5(terms, detail=none, columnsize=0, tokenize="ascii tokenchars '_'")""",
    f"""CREATE TABLE IF NOT EXISTS {UNINDEXED} (conversation_id char(32) NOT NULL, message_id char(32) NOT NULL,
        PRIMARY KEY (conversation_id, message_id)) WITHOUT ROWID""",
    f"CREATE TABLE IF NOT EXISTS {STATE} (version integer NOT NULL, filled_to char(32) NULL, is_whole bool NOT NULL)",
)
_POSTGRES = (
    f"""CREATE TABLE IF NOT EXISTS {INDEXED} (id bigserial PRIMARY KEY, message_id uuid NOT NULL UNIQUE,
        conversation_id uuid NOT NULL, number integer NULL, terms tsvector NOT NULL)""",
    f"CREATE INDEX IF NOT EXISTS {INDEXED}_number ON {INDEXED} (conversation_id, number)",
    f"CREATE INDEX IF NOT EXISTS {INDEXED}_terms ON {INDEXED} USING gin (terms)",
    # Nobody waits for another here: what was noted twice is looked at twice.
    f"""CREATE TABLE IF NOT EXISTS {UNINDEXED} (id bigserial PRIMARY KEY, conversation_id uuid NOT NULL,
        message_id uuid NOT NULL)""",
    f"CREATE INDEX IF NOT EXISTS {UNINDEXED}_of ON {UNINDEXED} (conversation_id)",
    f"CREATE TABLE IF NOT EXISTS {STATE} (version integer NOT NULL, filled_to uuid NULL, is_whole boolean NOT NULL)",
)
_SHADOWS = {
    "data": "(id INTEGER PRIMARY KEY, block BLOB)",
    "idx": "(segid, term, pgno, PRIMARY KEY (segid, term)) WITHOUT ROWID",
    "content": "(id INTEGER PRIMARY KEY, c0)",
    "config": "(k PRIMARY KEY, v) WITHOUT ROWID",
}
"""The tables that an FTS5 table consists of: if one is missing, it cannot even be dropped."""


def install() -> None:
    """Make the missing tables and triggers. A new index, or one that missed writes without its triggers, must be
    filled.
    """
    if missing := missing_parts():
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in (*(_SQLITE if is_sqlite() else _POSTGRES), *_triggers()):
                cursor.execute(statement)
            if missing - {STATE}:
                cursor.execute(f"DELETE FROM {STATE}")


def drop_triggers() -> None:
    """Remove the triggers before a migration: SQLite cannot rename a table that a trigger of another table names."""
    with connection.cursor() as cursor:
        for name, (_, table, *_) in _TRIGGERS.items():
            on = "" if is_sqlite() else f" ON conversations_{table}"
            cursor.execute(f"DROP TRIGGER IF EXISTS {INDEXED}_{name}{on}")


def drop() -> None:
    drop_triggers()
    with transaction.atomic(), connection.cursor() as cursor:
        if is_sqlite():
            _drop_terms()
        for table in (INDEXED, UNINDEXED, STATE):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
        if not is_sqlite():
            cursor.execute(f"DROP FUNCTION IF EXISTS {INDEXED}_note_message(), {INDEXED}_note_call()")


def missing_parts() -> set[str]:
    """The names of missing tables and triggers."""
    triggers = {f"{INDEXED}_{name}" for name in _TRIGGERS}
    tables = {INDEXED, UNINDEXED, STATE} | (
        {TERMS, *(f"{TERMS}_{name}" for name in _SHADOWS)} if is_sqlite() else set()
    )
    with connection.cursor() as cursor:
        if is_sqlite():
            cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'conversations\\_%%' ESCAPE '\\'")
        else:
            cursor.execute(
                "SELECT relname FROM pg_class WHERE relname LIKE 'conversations\\_%%' AND pg_table_is_visible(oid) "
                "UNION ALL SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
                "WHERE NOT tgisinternal AND pg_table_is_visible(tgrelid)"
            )
        return (tables | triggers) - {name for (name,) in cursor.fetchall()}


def _drop_terms() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE %s", [f"{TERMS}%"])
        there = {name for (name,) in cursor.fetchall()}
        if TERMS not in there:
            return
        for name, columns in _SHADOWS.items():
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {TERMS}_{name} {columns}")
        cursor.execute(f"INSERT OR IGNORE INTO {TERMS}_config VALUES ('version', 4)")
        cursor.execute(f"DROP TABLE {TERMS}")


def _triggers() -> list[str]:
    if is_sqlite():
        return [_sqlite_trigger(name) for name in _TRIGGERS]
    return [_postgres_function("message"), _postgres_function("call"), *map(_postgres_trigger, _TRIGGERS)]


def _sqlite_trigger(name: str) -> str:
    when, table, condition, conversation, message = _TRIGGERS[name]
    conversation = conversation or f"(SELECT conversation_id FROM conversations_message WHERE id = {message})"
    return (
        f"CREATE TRIGGER IF NOT EXISTS {INDEXED}_{name} {when} ON conversations_{table} WHEN {condition} "
        f"BEGIN INSERT OR IGNORE INTO {UNINDEXED} (conversation_id, message_id) VALUES ({conversation}, {message}); END"
    )


def _postgres_function(kind: str) -> str:
    note = f"INSERT INTO {UNINDEXED} (conversation_id, message_id)"
    if kind == "call":
        insert = f"{note} SELECT conversation_id, id FROM conversations_message WHERE id ="
        body = f"IF TG_OP = 'DELETE' THEN {insert} OLD.message_id; ELSE {insert} NEW.message_id; END IF;"
    else:
        body = (
            f"IF TG_OP = 'DELETE' THEN {note} VALUES (OLD.conversation_id, OLD.id); "
            f"ELSE {note} VALUES (NEW.conversation_id, NEW.id); END IF;"
        )
    return (
        f"CREATE OR REPLACE FUNCTION {INDEXED}_note_{kind}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {body} RETURN NULL; END $$"
    )


def _postgres_trigger(name: str) -> str:
    when, table, condition, _, _ = _TRIGGERS[name]
    kind = "call" if table == "toolcall" else "message"
    return (
        f"CREATE OR REPLACE TRIGGER {INDEXED}_{name} {when} ON conversations_{table} FOR EACH ROW "
        f"WHEN ({condition}) EXECUTE FUNCTION {INDEXED}_note_{kind}()"
    )
