"""The full-text index: in step with whatever is written, and made anew where it is missing or broken."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from time import thread_time
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from compression.core.text.index_terms import index_terms
from conversations.agents.tools.history import search_history
from conversations.context import transcript
from conversations.memory import index_schema, message_index, recall
from conversations.messages import search
from conversations.models import Conversation, Message, ToolCall, User
from conversations.ops import health
from conversations.runtime.database import is_sqlite
from conversations.turns import forks
from tests.conversations.chat import START
from tests.conversations.messages.test_search import talk, texts
from tests.transactions import recorded_transactions

SCRIPTS = {
    "English": ("The nightly export moved to Thursday.", "exports"),
    "German": ("Die Größe der Datenbank überrascht alle.", "GROSSE".replace("SS", "ß")),
    "French": ("Le déploiement s'arrête à midi.", "deploiement"),
    "Russian": ("Порт базы данных теперь другой.", "ПОРТ"),
    "Greek": ("Η Αθήνα είναι όμορφη.", "αθηνα"),
    "Arabic": ("الميناء مفتوح اليوم", "مفتوح"),
    "Hebrew": ("הנמל פתוח היום", "פתוח"),
    "Hindi": ("बंदरगाह आज खुला है", "खुला"),
    "Thai": ("ท่าเรือเปิดวันนี้", "เปิด"),
    "Chinese": ("数据库的端口改成了五四三三", "端口"),
    "Japanese": ("港は来週から閉まります", "来週"),
    "Korean": ("항구는 오늘 열려 있습니다", "오늘"),
    "a number": ("It listens on 48213 now.", "48213"),
    "a path": ("See src/billing/ledger_v2.py for it.", "ledger"),
}

WHOLE = r"SCAN (?:hit|beside|conversations_(?:message|indexed))\b|\(conversation_id=\?\)|owner_id"
"""Of a plan that reads all of a conversation, or of a person."""


def entries() -> int:
    while message_index.catch_up():  # each time for a second at most
        pass
    return message_index.count()


@pytest.mark.parametrize(("text", "query"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_word_of_any_script_is_found(user: User, text: str, query: str) -> None:
    talk(user, text, "something else", title="-")
    assert texts(user, query) == [text]


@given(text=st.text(max_size=400))
def test_terms_are_letters_and_digits_alone_and_the_same_again(text: str) -> None:
    terms = index_terms(text)
    assert not any(sign in term for term in terms for sign in "_ \"'*&|!():\\\0")
    assert all(0 < len(term) <= 40 for term in terms) and len(set(terms)) == len(terms)


@pytest.mark.parametrize(
    "query",
    [
        "the of and a", "AND OR NOT", '"', "((((", "needle*", "NEAR(needle, 2)", "terms:needle", "-needle",
        "needle' OR 1=1 --",
        "needle & !", "^needle", "_c* needle", "\u202eneedle", "😀", "\U0001f469\u200d\U0001f467", "%", "\\",
        "needle <-> pin", "a b c d e f g h i j k l m n",
        "x" * 200, "é" * 100,
    ],
)  # fmt: skip
def test_no_query_is_a_fault_or_finds_what_is_not_asked_for(user: User, query: str) -> None:
    talk(user, "a needle", title="-")
    talk(User.objects.create_user("mallory"), "a needle of another: the of and a OR NOT 😀 é % x", title="-")
    assert set(texts(user, query)) <= {"a needle"}


def test_every_way_of_writing_is_seen(user: User) -> None:
    conversation = talk(user, "alpha one", "alpha two", title="-")
    assert texts(user, "alpha") == ["alpha two", "alpha one"]
    first, second = conversation.messages.all()
    Message.objects.filter(pk=first.pk).update(content="omega")
    assert texts(user, "omega") == ["omega"] and texts(user, "alpha") == ["alpha two"]
    Message.objects.filter(pk=second.pk).update(replaced_by=first)
    assert texts(user, "alpha") == [] and entries() == 1
    Message.objects.filter(pk=second.pk).update(replaced_by=None)
    assert texts(user, "alpha") == ["alpha two"]
    copy = forks.fork(conversation, second.pk)
    assert len(texts(user, "omega")) == 2 and entries() == 4
    conversation.delete()
    assert len(texts(user, "omega")) == 1 and entries() == 2
    copy.delete()
    assert entries() == 0


def test_a_reply_is_found_when_it_has_ended(user: User) -> None:
    conversation = talk(user, "hello", title="-")
    reply = Message.objects.create(
        conversation=conversation, role="assistant", status="streaming", created_at=START + timedelta(hours=1)
    )
    Message.objects.filter(pk=reply.pk).update(content="a half of the nee")
    assert entries() == 1
    Message.objects.filter(pk=reply.pk).update(content="a needle", status="complete")
    assert texts(user, "needle") == ["a needle"]


def test_the_words_of_what_is_deleted_leave_the_index(user: User) -> None:
    conversation = talk(user, "an unmistakable zanzibar", title="-")
    ToolCall.objects.create(
        message=conversation.messages.get(), call_id="1", name="fetch", result="quetzalcoatl", created_at=START
    )
    message_index.catch_up()
    scope = message_index.of_conversation(conversation.pk)
    assert message_index.propose(scope, index_terms("zanzibar quetzalcoatl")).counts == (1, 1)
    ToolCall.objects.all().delete()
    message_index.catch_up()
    assert message_index.propose(scope, index_terms("zanzibar quetzalcoatl")).counts == (1, 0)
    conversation.delete()
    message_index.catch_up()
    assert message_index.propose(scope, index_terms("zanzibar quetzalcoatl")).counts == (0, 0)


def test_numbers_are_those_of_the_history(user: User) -> None:
    conversation = talk(user, *(f"message {number}" for number in range(7)), title="-")
    rows = list(conversation.messages.order_by("created_at"))
    Message.objects.filter(pk=rows[1].pk).update(status="failed")
    message_index.catch_up(most=3)
    message_index.catch_up()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT message_id, number FROM {index_schema.INDEXED}")
        numbers = {message_index._id(key): number for key, number in cursor.fetchall()}
    assert numbers[rows[1].pk] is None and numbers[rows[0].pk] == 1
    assert numbers[rows[6].pk] == 6


def test_what_is_older_than_the_index_is_filled_in_the_background(user: User) -> None:
    talk(user, *(f"needle {number}" for number in range(5)), title="-")
    index_schema.drop()
    index_schema.install()
    assert not message_index.fill(2) and not message_index.health().filled
    message_index.keep_up()
    assert message_index.health().filled and entries() == 5
    assert len(texts(user, "needle")) == 5


def test_writers_wait_neither_for_the_stems_of_words_nor_for_many_long_messages(user: User) -> None:
    words = [f"{stem}{number}ing exports" for number in range(500) for stem in ("deploy", "index", "compact", "stream")]
    talk(user, *(" ".join([f"needle{number}", *words]) for number in range(60)), title="-")
    began = thread_time()
    with recorded_transactions() as found:
        assert message_index.catch_up(seconds=60) == 60
    took, held = thread_time() - began, [block.milliseconds / 1000 for block in found]
    assert len(found) >= 60 * len(" ".join(words)) / message_index.BATCH_CHARS
    assert max(held) < took / 3, (held, took)
    if is_sqlite():
        assert sum(held) < took / 2, (held, took)
    assert len(texts(user, "needle59")) == 1


def test_a_round_of_the_upkeep_reports_whether_messages_still_wait(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(user, "one", "two", title="-")
    with monkeypatch.context() as patch:
        patch.setattr(message_index, "UPKEEP_SECONDS", 0.0)
        assert message_index.keep_up()
    assert not message_index.keep_up() and message_index.count() == 2
    talk(user, "three", title="-")
    monkeypatch.setattr(message_index, "UPKEEP_MESSAGES", 1)
    assert message_index.keep_up()


def test_the_index_has_a_message_as_it_is_when_its_entry_is_written(user: User) -> None:
    conversation = talk(user, "the old zanzibar", "another message", title="-")
    changed: list[str] = []

    def change(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if connection.in_atomic_block and not changed:
            changed.append(sql)
            Message.objects.filter(content="the old zanzibar").update(content="the new quetzalcoatl")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(change):
        assert message_index.catch_up(most=10) >= 2
    message_index.catch_up()
    scope = message_index.of_conversation(conversation.pk)
    assert message_index.propose(scope, index_terms("zanzibar quetzalcoatl")).counts == (0, 1)


def test_messages_from_before_the_index_are_filled_by_a_limited_number_of_characters(user: User) -> None:
    talk(user, *(f"needle{number} " + "word " * 60_000 for number in range(4)), title="-")
    index_schema.drop()
    index_schema.install()
    assert not message_index.fill() and message_index.count() == 1
    while message_index.keep_up():  # each time for a second at most
        pass
    assert message_index.health().filled and entries() == 4
    assert len(texts(user, "needle3")) == 1


def test_reindex_makes_all_of_it_anew(user: User, capsys: Any) -> None:
    talk(user, "needle", title="-")
    message_index.catch_up()
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {index_schema.INDEXED}")
    call_command("reindex")
    assert "Indexed 1 messages." in capsys.readouterr().out
    assert texts(user, "needle") == ["needle"]


def test_other_rules_for_terms_have_it_filled_anew(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(user, "needle", title="-")
    message_index.keep_up()
    assert message_index.health().filled
    monkeypatch.setattr("compression.core.text.index_terms.VERSION", 99)
    assert not message_index.health().filled
    message_index.keep_up()
    assert message_index.health().filled and entries() == 1


def test_an_index_that_is_missing_heals_and_search_goes_on_meanwhile(
    user: User, caplog: pytest.LogCaptureFixture
) -> None:
    talk(user, "a needle", title="-")
    index_schema.drop()
    try:
        with caplog.at_level(logging.ERROR):
            assert texts(user, "needle") == ["a needle"]
        assert "search index" in caplog.text
        assert "missing" in health.index_state()
        message_index.keep_up()
        assert health.index_state() == "ok" and entries() == 1
        assert texts(user, "needles") == ["a needle"]
    finally:
        index_schema.install()


def test_a_lost_trigger_is_put_back_and_what_it_missed_is_indexed(user: User) -> None:
    conversation = talk(user, "a needle", title="-")
    message_index.keep_up()
    on = "" if is_sqlite() else " ON conversations_message"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {index_schema.INDEXED}_message_said{on}")
    conversation.messages.create(role="user", content="a missed one", created_at=START + timedelta(hours=2))
    assert "missing" in health.index_state()
    assert message_index.heal()
    message_index.keep_up()
    assert entries() == 2 and texts(user, "missed") == ["a missed one"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="of the files of SQLite")
@pytest.mark.parametrize(
    "harm", ["DROP TABLE conversations_terms_data", "UPDATE conversations_terms_data SET block = x'00'"]
)
def test_a_broken_index_is_made_anew(user: User, harm: str) -> None:
    talk(user, "a needle", "two", title="-")
    message_index.keep_up()
    with connection.cursor() as cursor:
        cursor.execute(harm)
    try:
        assert texts(user, "needle") == ["a needle"]  # by reading the messages
        Message.objects.filter(content="two").update(content="three")
        message_index.keep_up()
        message_index.keep_up()
        assert message_index.health().filled and entries() == 2
        assert texts(user, "three") == ["three"]
    finally:
        message_index.rebuild()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="of the files of SQLite")
@pytest.mark.parametrize("harm", ["x'00'", "zeroblob(length(block))", "substr(block, 1, length(block) / 2)"])
@pytest.mark.parametrize("where", ["", " WHERE id > 10"])
def test_harm_is_noticed_and_healed_though_nothing_is_written(user: User, harm: str, where: str) -> None:
    talk(user, "a needle", "two", title="-")
    message_index.keep_up()
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE conversations_terms_data SET block = {harm}{where}")
    try:
        assert "broken" in health.index_state()
        assert texts(user, "needle") == ["a needle"]
        message_index.keep_up()
        assert health.index_state() == "ok" and entries() == 2
        assert texts(user, "needles") == ["a needle"]
    finally:
        message_index.rebuild()


def test_one_that_is_far_behind_says_so_until_it_has_caught_up(user: User) -> None:
    conversation = talk(user, "a needle", title="-")
    message_index.keep_up()
    later = [
        Message(conversation=conversation, role="user", content=f"n {number}", created_at=moment)
        for number, moment in enumerate(
            START + timedelta(days=1, seconds=at) for at in range(message_index.BEHIND_MESSAGES)
        )
    ]
    Message.objects.bulk_create(later)
    assert "behind" in health.index_state()
    while message_index.catch_up():
        pass
    assert health.index_state() == "ok"


def test_a_long_message_is_indexed_within_bounds(user: User) -> None:
    talk(user, " ".join(f"word{number}" for number in range(60_000)), "x" * 500_000, "字" * 200_000, title="-")
    assert entries() == 3
    assert len(texts(user, "word17")) == 1


def test_a_page_of_the_ranking_follows_another(user: User) -> None:
    talk(user, *(f"needle {number} " + "and so on " * number for number in range(9)), title="-")
    first = search.find_hits(user, "needle", limit=4)
    second = search.find_hits(user, "needle", limit=20, after=first.next)
    assert first.next == "best.4" and second.next is None
    assert len({hit.message.pk for hit in (*first.hits, *second.hits) if hit.message}) == 9
    assert search.find_hits(user, "needle", after="best.999").hits == ()


def test_conversations_of_agents_gateway_and_executors_are_told_apart(user: User) -> None:
    for kind in Conversation.Kind:
        talk(user, f"needle of {kind}", title="-", kind=kind)
    assert sorted(texts(user, "needle")) == ["needle of agent", "needle of chat"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by what it counted")
def test_messages_are_read_by_their_ids_and_never_all_of_a_conversation_or_a_person(user: User) -> None:
    conversation = talk(user, *(f"needle {number} in a haystack" for number in range(30)), title="-")
    Conversation.objects.filter(pk=conversation.pk).update(
        compressed_at=START + timedelta(days=1), compressed_context="[Compressed Message Summary]", compressed_tokens=4
    )
    Message.objects.create(
        conversation=conversation, role="user", content="needle 7?", created_at=START.replace(year=2027)
    )
    message_index.catch_up()
    with CaptureQueriesContext(connection) as queries:
        assert search.find_hits(user, "needle 7").hits
        assert search_history(conversation.pk, "needle 7")
        recall.recalling(transcript.load(conversation.pk))
    asked = [
        query["sql"] for query in queries if "conversations_indexed" in query["sql"] or '"id" IN (' in query["sql"]
    ]
    assert len(asked) > 4
    for sql in asked:
        plan = " ".join(row[-1] for row in connection.connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall())
        whole = re.search(
            r"SCAN (?:hit|beside|conversations_(?:message|indexed))\b|\(conversation_id=\?\)|owner_id", plan
        )
        assert not whole, f"{plan}\n{sql}"


def test_a_migration_that_makes_the_messages_table_anew_leaves_the_index_whole(transactional_db: None) -> None:
    try:
        call_command("migrate", "conversations", "0001_conversations", verbosity=0)
        assert not index_schema.missing_parts()
    finally:
        call_command("migrate", verbosity=0)  # adds a column: SQLite copies the table, and renames the copy
    assert not index_schema.missing_parts()
    user = User.objects.create_user("grace")
    talk(user, "The parrot eats papaya.", title="-")
    assert texts(user, "papaya") == ["The parrot eats papaya."]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the same plan for any number of rows")
def test_messages_beside_others_are_found_by_the_index_in_a_long_conversation_too(user: User) -> None:
    talk(user, "hello", title="-")
    columns = [field.column for field in Message._meta.concrete_fields]
    values = {"id": "gen_random_uuid()", "created_at": "created_at + n * interval '1 second'"}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO conversations_message ({', '.join(columns)}) "
            f"SELECT {', '.join(values.get(name, name) for name in columns)} "
            "FROM conversations_message, generate_series(1, 30000) AS n"
        )
        cursor.execute(
            "INSERT INTO conversations_indexed (message_id, conversation_id, number, terms) "
            "SELECT id, conversation_id, row_number() OVER (), to_tsvector('hello') FROM conversations_message"
        )
        cursor.execute("ANALYZE conversations_indexed, conversations_message")
    with CaptureQueriesContext(connection) as queries:
        recall.BESIDE.rows(entries=",".join(map(str, range(1, 80, 2))), cut=START + timedelta(days=365))
    (asked,) = queries.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked['sql']}")
        plan = "\n".join(row for (row,) in cursor.fetchall())
    # The table of the ledger is empty here: PostgreSQL may read all of it.
    assert not re.search(r"Seq Scan on (conversations_message|conversations_indexed)", plan), plan
