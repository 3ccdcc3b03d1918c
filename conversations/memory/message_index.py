"""The full-text index over all messages: SQLite's FTS5, PostgreSQL's tsvector with GIN; the terms are our own.

Triggers note every write (`index_schema`); `catch_up` indexes the noted messages, before each lookup and in the upkeep.
The index only proposes entries: callers read the messages themselves, so that a message that was deleted or replaced
meanwhile never appears.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from heapq import nlargest
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Length

from compression.core.text import day_terms, index_terms
from compression.history import BEGINNING
from conversations.access import CHATS, IN_PROJECT
from conversations.context.tools import READ, SEARCH
from conversations.context.transcript import HISTORY
from conversations.memory import index_schema
from conversations.memory.index_schema import INDEXED, STATE, TERMS, UNINDEXED
from conversations.models import Message, ToolCall
from conversations.runtime.database import is_sqlite

logger = logging.getLogger(__name__)

BATCH_MESSAGES, BATCH_CHARS = 200, 500_000
"""The most messages and characters that are indexed in one transaction, during which nobody else writes to SQLite. A
single longer message is one batch."""
LOOKUP_TOOLS = (READ, SEARCH)
"""Tools that search the history itself: their results, once indexed, would be found again by each search."""
MAX_INDEXED_CHARS = 1_000_000
"""The most characters that are indexed of a message, and of its tools' results."""
MAX_POSTINGS = 512
"""The most messages that one term proposes: the newest ones."""
SELDOM_MESSAGES = 512
"""A term in fewer messages than this, of all conversations, is seldom."""
MESSAGES = Message._meta.db_table
WAITING, TOTAL = -1, -2
"""The places of the figures of the whole conversation in the answer to a query."""
CONVERSATION = "_c"
"""The prefix of a conversation's term, before its id."""
MAX_SCANNED = 4_000
"""The most entries that PostgreSQL, which keeps them unordered, sorts for the newest ones."""
UPKEEP_SECONDS, UPKEEP_MESSAGES = 2.0, 2_000
"""The most seconds and messages of one round of the upkeep."""
BEHIND_MESSAGES = 1_000
"""The number of messages waiting to be indexed from which `health` and searches report it."""
BROKEN_HERE = "search-index-is-broken"
"""The key in the cache, which all processes share, that reports a broken index."""
BROKEN = ("malformed", "corrupt", "no such table", "does not exist", "vtable", "missing")


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the index: `filled` if every message from before the index is in it; `waiting` writes are not
    indexed yet.
    """

    is_there: bool
    filled: bool = False
    waiting: int = 0
    is_broken: bool = False

    def __str__(self) -> str:
        if not self.is_there or self.is_broken:
            return f"{'broken' if self.is_broken else 'missing'}; it is made anew"
        if not self.filled:
            return "being filled; older messages are not found yet"
        return "behind; the newest messages are not found yet" if self.waiting >= BEHIND_MESSAGES else "ok"


@dataclass(frozen=True, slots=True)
class IndexMatches:
    """The answer to a query: for each term, the newest entries of messages that have it."""

    postings: tuple[Sequence[int], ...]
    is_behind: bool = False
    """Whether messages of the query wait to be indexed."""
    total: int = 0
    """The number of the conversation's last indexed message."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of messages with each term, at most MAX_POSTINGS."""
        return tuple(map(len, self.postings))

    def best(self, weights: Sequence[float], most: int) -> list[int]:
        """The entries with the heaviest terms, of equal ones the newest, at most this many."""
        scores: defaultdict[int, float] = defaultdict(float)
        for posting, weight in zip(self.postings, weights, strict=True):
            for entry in posting:
                scores[entry] += weight
        return [entry for _, entry in nlargest(most, zip(scores.values(), scores, strict=True))]


def of_conversation(id: UUID) -> str:
    """The term that every message of a conversation has; no text gives a term with an underscore."""
    return f"{CONVERSATION}{id.hex}"


def of_owner(id: int) -> str:
    """The term that every message of a person's chats has."""
    return f"_u{id}"


def of_project(id: UUID) -> str:
    """The term that every message of a project's conversations has."""
    return f"_p{id.hex}"


def note(*conversation_ids: UUID) -> None:
    """Note all messages of these conversations for indexing: they were moved to another project."""
    columns = "conversation_id, message_id"
    known = "OR IGNORE " if is_sqlite() else ""
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT {known}INTO {UNINDEXED} ({columns}) SELECT conversation_id, id FROM {MESSAGES} "
            "WHERE conversation_id = %s",
            [[_key(id)] for id in conversation_ids],
        )


def propose(
    scope: str, terms: Sequence[str], *, begins: bool = False, within: tuple[UUID, datetime] | None = None
) -> IndexMatches:
    """The newest messages of `scope` with each term; with `begins`, with any term that begins so. One query.

    With `within`, the id of the scope's conversation and a moment, the answer also says how many messages it has, and
    whether some from up to that moment wait to be indexed.
    """
    arms, values = [], list[Any]()
    for place, term in enumerate(terms):
        arm, its_values = _arm(scope, term, begins)
        arms.append(f"SELECT {place}, ({arm})")
        values += its_values
    if within is not None:
        id, until = _key(within[0]), connection.ops.adapt_datetimefield_value(within[1])
        waiting = f"FROM {UNINDEXED} AS noted JOIN {MESSAGES} AS message ON message.id = noted.message_id"
        waiting += " WHERE noted.conversation_id = %s AND message.created_at <= %s"
        arms.append(f"SELECT {WAITING}, (SELECT '0' {waiting} LIMIT 1)")
        arms.append(f"SELECT {TOTAL}, (SELECT CAST(MAX(number) AS text) FROM {INDEXED} WHERE conversation_id = %s)")
        values += [id, until, id]
    postings: list[Sequence[int]] = [()] * len(terms)
    of_all = dict.fromkeys((WAITING, TOTAL), "")
    if arms:
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(arms), values)
            for place, found in cursor.fetchall():
                if place < 0:
                    of_all[place] = found
                else:
                    postings[place] = list(map(int, found.split(","))) if found else ()
    return IndexMatches(tuple(postings), bool(of_all[WAITING]), int(of_all[TOTAL] or 0))


def messages_of(entries: Sequence[int]) -> list[UUID]:
    """The ids of the messages of these entries."""
    with connection.cursor() as cursor:
        marks = ", ".join(["%s"] * len(entries))
        cursor.execute(f"SELECT message_id FROM {INDEXED} WHERE id IN ({marks})", list(entries))
        return [_id(key) for (key,) in cursor.fetchall()]


def catch_up(conversation_id: UUID | None = None, *, most: int = 2_000, seconds: float = 1.0) -> int:
    """Index the noted messages, of one conversation or of all, within the bounds; returns their number."""
    done, until = 0, time.monotonic() + seconds
    while done < most and time.monotonic() < until:
        count = _catch_up(conversation_id, min(BATCH_MESSAGES, most - done))
        done += count
        if count == 0:
            break
    return done


def is_behind() -> bool:
    """Whether many messages of the site wait to be indexed, as after a large import or an upgrade. One query.

    An index without its state, which the upkeep makes anew, counts as behind.
    """
    waiting = f"SELECT COUNT(*) FROM (SELECT 1 FROM {UNINDEXED} LIMIT {BEHIND_MESSAGES}) AS noted"
    unfinished = f"SELECT COUNT(*) FROM {STATE} WHERE NOT (version = %s AND is_whole)"
    try:
        with transaction.atomic() if connection.in_atomic_block else nullcontext(), connection.cursor() as cursor:
            cursor.execute(f"SELECT ({waiting}), ({unfinished})", [index_terms.VERSION])
            noted, fills = cursor.fetchone()
    except DatabaseError as error:
        report(error)
        return True
    return bool(noted >= BEHIND_MESSAGES or fills)


def keep_up() -> bool:
    """A round of the upkeep: index the noted messages, then those from before the index; a broken index is remade.

    Returns whether the round ended before all was indexed.
    """
    if cache.get(BROKEN_HERE):
        cache.delete(BROKEN_HERE)
        if not heal():
            rebuild()
    try:
        if not index_schema.missing_parts() and not _is_sound():
            raise DatabaseError("corrupt: the latest entry does not have its terms")
        return _keep_up()
    except DatabaseError as error:
        heal(error)
        return _keep_up()


def _keep_up() -> bool:
    until = time.monotonic() + UPKEEP_SECONDS
    done = catch_up(most=UPKEEP_MESSAGES, seconds=UPKEEP_SECONDS)
    while not fill() and time.monotonic() < until:
        pass
    return done >= UPKEEP_MESSAGES or time.monotonic() >= until


def fill(batch: int = BATCH_MESSAGES) -> bool:
    """Index the next messages from before the index; returns whether all of them are indexed now."""
    filled_to, is_whole = _state()
    if is_whole:
        return True
    rows = Message.objects.order_by("pk").values_list("pk", flat=True)
    found = list(rows.filter(pk__gt=filled_to)[:batch] if filled_to else rows[:batch])
    ids = _one_batch(found)
    known = _computed(ids)
    is_whole = len(ids) == len(found) < batch
    with transaction.atomic():
        if _state()[0] == filled_to:  # no other process has filled it this far meanwhile
            _index(ids, known)
            _write_state(ids[-1] if ids else filled_to, is_whole=is_whole)
    return is_whole


def rebuild() -> None:
    """Drop the index and make an empty one, which the upkeep fills."""
    index_schema.drop()
    index_schema.install()


def report(error: DatabaseError) -> None:
    """Report an index that could not be read: the upkeep of some process rebuilds it."""
    logger.error("search index: it cannot be used", exc_info=error)
    if _is_broken(error):
        cache.set(BROKEN_HERE, True, timeout=None)


def heal(error: BaseException | None = None) -> bool:
    """Make missing parts, or the whole index if the database reports it broken; returns whether that was needed."""
    if index_schema.missing_parts():
        logger.error("search index: parts of it are missing; it is made anew")
        index_schema.install() if _is_usable() else rebuild()
        return True
    if error is not None and _is_broken(error):
        logger.error("search index: it is broken (%s); it is made anew", type(error).__name__)
        rebuild()
        return True
    if error is not None:
        raise error
    return False


def health() -> Health:
    if index_schema.missing_parts():
        return Health(is_there=False)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM (SELECT 1 FROM {UNINDEXED} LIMIT {BEHIND_MESSAGES}) AS noted")
        waiting = int(cursor.fetchone()[0])
    return Health(True, _state()[1], waiting, bool(cache.get(BROKEN_HERE)) or not _is_sound())


def count() -> int:
    """The number of indexed messages."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {INDEXED}")
        return int(cursor.fetchone()[0])


def _is_usable() -> bool:
    """Whether the existing tables can stay: an FTS5 table that lost a part of itself cannot."""
    missing = index_schema.missing_parts()
    return TERMS in missing or not any(name.startswith(f"{TERMS}_") for name in missing)


def _is_sound() -> bool:
    """Whether the latest entry is found: some damage to FTS5's tables raises no error but hides entries."""
    if not is_sqlite():
        return True
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, conversation_id FROM {INDEXED} ORDER BY id DESC LIMIT 1")
        if (latest := cursor.fetchone()) is None:
            return True
        scope = f'"{CONVERSATION}{latest[1]}"'
        try:
            cursor.execute(f"SELECT 1 FROM {TERMS} WHERE {TERMS} MATCH %s AND rowid = %s", [scope, latest[0]])
            return cursor.fetchone() is not None
        except DatabaseError as error:
            if _is_broken(error):
                return False
            raise


def _is_broken(error: BaseException) -> bool:
    sentence = str(error).lower()
    locked = isinstance(error, OperationalError | InterfaceError) and ("lock" in sentence or "connect" in sentence)
    return not locked and any(word in sentence for word in BROKEN)


def _arm(scope: str, term: str, begins: bool) -> tuple[str, list[Any]]:
    """A query with its values for the entries with a term, as one text, which is faster to fetch than rows."""
    both = _match(scope, term, begins)
    if not is_sqlite():
        # Materialised: planned as if all of it were read, which is by the index, and read as far as is needed.
        return (
            f"WITH found AS MATERIALIZED (SELECT id FROM {INDEXED} WHERE terms @@ %s::tsquery) "
            "SELECT string_agg(id::text, ',') FROM "
            f"(SELECT id FROM (SELECT id FROM found LIMIT {MAX_SCANNED}) AS proposed "
            f"ORDER BY id DESC LIMIT {MAX_POSTINGS}) AS newest"
        ), [both]
    newest = f"SELECT rowid AS id FROM {TERMS} WHERE {TERMS} MATCH %s ORDER BY rowid DESC LIMIT {MAX_POSTINGS}"
    newest = f"SELECT group_concat(id) FROM ({newest})"
    if begins or not scope.startswith(CONVERSATION):
        return newest, [both]
    # A seldom term is looked up by itself: beside it, all entries of the conversation would be read.
    count = f"SELECT COUNT(*) FROM (SELECT 1 FROM {TERMS} WHERE {TERMS} MATCH %s LIMIT {SELDOM_MESSAGES})"
    own = (
        f"SELECT group_concat({INDEXED}.id) FROM {TERMS} CROSS JOIN {INDEXED} ON {INDEXED}.id = {TERMS}.rowid "
        f"WHERE {TERMS} MATCH %s AND {INDEXED}.conversation_id = %s"
    )
    alone = f'"{term}"'
    values = [alone, alone, scope.removeprefix(CONVERSATION), both]
    return f"SELECT CASE WHEN ({count}) < {SELDOM_MESSAGES} THEN ({own}) ELSE ({newest}) END", values


def _match(scope: str, term: str, begins: bool) -> str:
    if is_sqlite():
        return f'"{scope}" AND "{term}"{"*" if begins else ""}'
    return f"'{scope}' & '{term}'{':*' if begins else ''}"


def _key(id: UUID) -> Any:
    return id.hex if is_sqlite() else id


def _id(key: Any) -> UUID:
    return key if isinstance(key, UUID) else UUID(key)


def _catch_up(conversation_id: UUID | None, most: int) -> int:
    noted = _noted(conversation_id, most)
    if not noted:
        return 0  # without a transaction: on SQLite that would wait for other writers
    # PostgreSQL's writers do not wait for each other: there the notes are locked first, so that two processes never
    # compute the same terms.
    batch = _one_batch(_messages(noted)) if is_sqlite() else []
    known = _computed(batch)
    with transaction.atomic():
        if not is_sqlite():
            noted = _noted(conversation_id, most, lock=True)
            batch = _one_batch(_messages(noted))
        chosen = set(batch)
        noted = [note for note in noted if _id(note[1]) in chosen]
        _index(batch, known)
        _forget(noted)
    return len(noted)


def _messages(noted: Iterable[tuple[Any, Any]]) -> list[UUID]:
    return list(dict.fromkeys(_id(message) for _, message in noted))


def _one_batch(ids: Sequence[UUID]) -> list[UUID]:
    """The first of these messages, as many as are indexed in one transaction."""
    results = _calls(ids).values_list("message_id").annotate(chars=Sum(Length("result")))
    sizes = Counter[UUID](dict(results))
    sizes.update(dict(Message.objects.filter(pk__in=ids).values_list("pk", Length("content"))))
    chars = accumulate(sizes[id] for id in ids)
    return [id for place, (id, total) in enumerate(zip(ids, chars, strict=True)) if place == 0 or total <= BATCH_CHARS]


def _noted(conversation_id: UUID | None, most: int, *, lock: bool = False) -> list[tuple[Any, Any]]:
    which = "" if conversation_id is None else " WHERE conversation_id = %s"
    values = [] if conversation_id is None else [_key(conversation_id)]
    first = "conversation_id" if is_sqlite() else "id"
    ending = " FOR UPDATE SKIP LOCKED" if lock and not is_sqlite() else ""
    with connection.cursor() as cursor:
        order = "" if is_sqlite() else " ORDER BY id"
        cursor.execute(f"SELECT {first}, message_id FROM {UNINDEXED}{which}{order} LIMIT {most}{ending}", values)
        return list(cursor.fetchall())


def _forget(noted: Sequence[tuple[Any, Any]]) -> None:
    with connection.cursor() as cursor:
        if is_sqlite():
            cursor.executemany(f"DELETE FROM {UNINDEXED} WHERE conversation_id = %s AND message_id = %s", noted)
        else:
            cursor.execute(f"DELETE FROM {UNINDEXED} WHERE id = ANY(%s)", [[id for id, _ in noted]])


class _Source(NamedTuple):
    """The parts of a message that its terms are computed from."""

    text: str
    content: str
    day: date

    @property
    def terms(self) -> list[str]:
        """The terms; empty without a word."""
        found = index_terms.index_terms(self.text)
        return [*day_terms.day_terms(self.content, self.day), *found] if found else []


class _Indexable(NamedTuple):
    """A message that belongs in the index, with the terms of its scopes and its source."""

    id: UUID
    conversation_id: UUID
    created_at: datetime
    scopes: list[str]
    source: _Source


def _computed(ids: Sequence[UUID]) -> dict[_Source, list[str]]:
    """The terms of these messages, computed before the transaction that writes them: stemming takes the most time."""
    return {message.source: message.source.terms for message in _indexable(ids)}


def _index(ids: Collection[UUID], known: Mapping[_Source, list[str]]) -> None:
    """Write the entries of these messages as they are now: none for deleted, replaced or empty ones.

    `known` has the terms of messages that did not change since they were computed.
    """
    _remove(ids)
    rows = _indexable(ids)
    numbers = _numbers([(row.conversation_id, row.created_at) for row in rows])
    found = []
    for row in rows:
        terms = known.get(row.source)
        if terms := row.source.terms if terms is None else terms:
            found.append((row.id, row.conversation_id, numbers.get(row.id), [*row.scopes, *terms]))
    _add(found)


def _indexable(ids: Collection[UUID]) -> list[_Indexable]:
    """The messages among these that belong in the index, in order of time: not replaced, and not being written."""
    rows = Message.objects.filter(pk__in=ids, replaced_by=None).exclude(status=Message.Status.STREAMING)
    results = _results(ids)
    found = []
    for pk, conversation, owner, kind, name, content, images, created_at, project in rows.order_by(
        "created_at", "pk"
    ).values_list(
        "pk", "conversation_id", "conversation__owner_id", "conversation__kind", "name", "content", "images",
        "created_at", "conversation__project_id",
    ):  # fmt: skip
        pictures = " ".join(str(image.get("name", "")) for image in images or ())
        scopes = [of_conversation(conversation)]
        scopes += [of_owner(owner)] if kind in CHATS else []
        scopes += [of_project(project)] if project and kind in IN_PROJECT else []
        text = "\n".join([name, content[:MAX_INDEXED_CHARS], pictures, *results.get(pk, ())])
        found.append(_Indexable(pk, conversation, created_at, scopes, _Source(text, content, created_at.date())))
    return found


def _calls(ids: Collection[UUID]) -> QuerySet[ToolCall]:
    """The calls of these messages with a result, except of tools that search the history itself."""
    return ToolCall.objects.filter(message__in=ids, result__isnull=False).exclude(name__in=LOOKUP_TOOLS)


def _results(ids: Collection[UUID]) -> dict[UUID, list[str]]:
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    for message, result in _calls(ids).order_by("id").values_list("message_id", "result"):
        found[message].append((result or "")[:MAX_INDEXED_CHARS])
    return found


def _numbers(rows: Sequence[tuple[UUID, datetime]]) -> dict[UUID, int]:
    """The number of each message in its conversation's history, counted from the nearest numbered one."""
    spans: dict[UUID, tuple[datetime, datetime]] = {}
    for conversation, moment in rows:
        first, last = spans.get(conversation, (moment, moment))
        spans[conversation] = min(first, moment), max(last, moment)
    found: dict[UUID, int] = {}
    for conversation, (first, last) in spans.items():
        number, since = _numbered_before(conversation, first)
        history = Message.objects.filter(HISTORY, conversation_id=conversation, created_at__gt=since)
        ids = history.filter(created_at__lte=last).order_by("created_at").values_list("pk", flat=True)
        found |= {pk: place for place, pk in enumerate(ids, number + 1)}
    return found


def _numbered_before(conversation_id: UUID, moment: datetime) -> tuple[int, datetime]:
    before = Message.objects.filter(HISTORY, conversation_id=conversation_id, created_at__lt=moment)
    for pk, created_at in before.order_by("-created_at").values_list("pk", "created_at")[:4]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT number FROM {INDEXED} WHERE message_id = %s", [_key(pk)])
            row = cursor.fetchone()
        if row and row[0] is not None:
            return row[0], created_at
    return 0, BEGINNING


def _remove(ids: Collection[UUID]) -> None:
    keys = [_key(id) for id in ids]
    with connection.cursor() as cursor:
        if not is_sqlite():
            cursor.execute(f"DELETE FROM {INDEXED} WHERE message_id = ANY(%s)", [keys])
            return
        marks = ", ".join(["%s"] * len(keys))
        cursor.execute(f"SELECT id FROM {INDEXED} WHERE message_id IN ({marks})", keys)
        if old := [(id,) for (id,) in cursor.fetchall()]:
            cursor.executemany(f"DELETE FROM {TERMS} WHERE rowid = %s", old)
            cursor.executemany(f"DELETE FROM {INDEXED} WHERE id = %s", old)


def _add(found: Sequence[tuple[UUID, UUID, int | None, list[str]]]) -> None:
    if not found:
        return
    with connection.cursor() as cursor:
        if is_sqlite():
            entries = [(_key(pk), _key(conversation), number) for pk, conversation, number, _ in found]
            cursor.executemany(
                f"INSERT INTO {INDEXED} (message_id, conversation_id, number) VALUES (%s, %s, %s)", entries
            )
            texts = [(" ".join(terms), _key(pk)) for pk, _, _, terms in found]
            cursor.executemany(
                f"INSERT INTO {TERMS} (rowid, terms) SELECT id, %s FROM {INDEXED} WHERE message_id = %s", texts
            )
        else:
            cursor.executemany(
                f"INSERT INTO {INDEXED} (message_id, conversation_id, number, terms) "
                "VALUES (%s, %s, %s, array_to_tsvector(%s::text[])) ON CONFLICT (message_id) DO NOTHING",
                found,
            )


def _state() -> tuple[UUID | None, bool]:
    """The progress of filling the index, and whether it is complete; an index of other rules is rebuilt."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT filled_to, is_whole FROM {STATE} WHERE version = %s", [index_terms.VERSION])
        row = cursor.fetchone()
    return (row[0] and _id(row[0]), bool(row[1])) if row else (None, False)


def _write_state(filled_to: UUID | None, *, is_whole: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {STATE}")
        cursor.execute(
            f"INSERT INTO {STATE} (version, filled_to, is_whole) VALUES (%s, %s, %s)",
            [index_terms.VERSION, filled_to and _key(filled_to), is_whole],
        )
