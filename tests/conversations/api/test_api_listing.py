"""Ten thousand conversations of one person: a page of them is a seek in an index, whichever page it is."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conversations.models import Conversation, ModelProfile, User
from tests.conversations.api_client import Api, refused

ALL = "/api/conversations"
MANY = 10_000
MOST_MS = 100
"""Other tests run at the same time; alone it takes a quarter."""


def api_of(user: User, *, conversations: int) -> Api:
    profile, now = ModelProfile.objects.create(name="gpt", model_id="gpt"), timezone.now()
    others = User.objects.create_user("bob")
    Conversation.objects.bulk_create(
        Conversation(
            owner=user if number % 11 else others,
            title=f"Ports of service {number}",
            model=profile,
            system_prompt="Answer briefly. " * 20,
            updated_at=now - timedelta(minutes=number),
        )
        for number in range(conversations * 11 // 10)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    api = Api(user)
    api.get(ALL)
    return api


@pytest.mark.long
def test_a_page_of_ten_thousand_is_there_in_100_ms(user: User) -> None:
    api = api_of(user, conversations=MANY)
    last = _cursor_after(api, pages=3)
    asked: list[dict[str, Any]] = [{}, {"cursor": last}, {"q": "service 10999"}, {"q": "nowhere"}, {"limit": 200}]
    for query in asked:
        took = _fastest_ms(api, **query)
        print(query, f"{took:.1f} ms")
        assert took < MOST_MS, query


def test_a_page_is_read_by_the_index_and_not_sorted(user: User) -> None:
    api = api_of(user, conversations=MANY // 5)
    for query in ({}, {"cursor": _cursor_after(api, pages=3)}):
        plan = _plan(api, **query)
        assert "conversation_by_owner" in plan, plan
        assert "TEMP B-TREE" not in plan and "Sort" not in plan, plan
        if "cursor" in query:
            assert "updated_at<" in plan.replace(" ", ""), plan


def _cursor_after(api: Api, *, pages: int) -> str:
    cursor: dict[str, str] = {}
    for _ in range(pages):
        cursor = {"cursor": api.get(ALL, **cursor).json()["next"]}
    return cursor["cursor"]


def _fastest_ms(api: Api, **query: Any) -> float:
    client = Client(headers=api.headers)

    def once() -> float:
        began = time.perf_counter()
        assert client.get(ALL, query).status_code == 200
        return 1000 * (time.perf_counter() - began)

    return min(once() for _ in range(15))


def _plan(api: Api, **query: Any) -> str:
    with CaptureQueriesContext(connection) as asked:
        api.get(ALL, **query)
    sql = next(one["sql"] for one in asked.captured_queries if "ORDER BY" in one["sql"] and "updated_at" in one["sql"])
    with connection.cursor() as cursor:
        cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + sql)
        return "\n".join(" ".join(map(str, row)) for row in cursor.fetchall())


def test_conversations_of_the_gateway_are_listed_and_read_where_asked_for_and_never_written(user: User) -> None:
    api = Api(user)
    chat = Conversation.objects.create(owner=user, title="Ports")
    row = Conversation.objects.create(owner=user, title="A program's", kind="gateway")
    assert [item["id"] for item in api.get(ALL).json()["items"]] == [str(chat.pk)]
    assert [item["id"] for item in api.get(ALL, kind="gateway").json()["items"]] == [str(row.pk)]
    refused(api.get(ALL, kind="executor"), 400, "invalid")

    assert api.get(f"{ALL}/{row.pk}").json()["kind"] == "gateway"
    eve = Api(User.objects.get_or_create(username="eve")[0])
    for path in (
        *(f"{ALL}/{row.pk}/{part}" for part in ("context", "messages", "ledger", "export", "export?format=md")),
        *(f"/api/context/{row.pk}/{part}" for part in ("compactions", "snapshots")),
    ):
        assert api.get(path).status_code == 200, path
        refused(eve.get(path), 404, "not_found")
    refused(api.post(f"/api/context/{row.pk}/rollback"), 409, "nothing_to_undo")
    message = row.messages.create(role="user", content="hi", created_at=timezone.now())
    of_message = f"{ALL}/{row.pk}/messages/{message.pk}"
    written: list[tuple[str, str, Any]] = [
        ("PATCH", f"{ALL}/{row.pk}", {"policy": {"threshold": 0.6}}),
        ("POST", f"{ALL}/{row.pk}/messages", {"content": "hi"}),
        ("PATCH", of_message, {"is_protected": True}),
        ("POST", f"{of_message}/edit", {"content": "hi"}),
        ("POST", f"{of_message}/use", {"version": 1}),
        *(("POST", f"{of_message}/{act}", {}) for act in ("regenerate", "fork")),
        *(("POST", f"/api/context/{row.pk}/{act}", {}) for act in ("compact", "clear", "snapshots")),
        ("PUT", f"/api/context/{row.pk}/checkpoints/1", {"summary": "x"}),
        ("POST", f"{ALL}/{row.pk}/ledger", {"text": "Use UTC"}),
        ("PATCH", f"{ALL}/{row.pk}/ledger/{row.pk}", {"state": "in_force"}),
        ("PUT", f"{ALL}/{row.pk}/goal", {"description": "x"}),
        ("POST", f"{ALL}/{row.pk}/goal/end", {"status": "completed"}),
    ]
    for method, path, body in written:
        refused(api.send(method, path, json.dumps(body).encode()), 409, "read_only")
        refused(eve.send(method, path, json.dumps(body).encode()), 404, "not_found")
    refused(eve.send("DELETE", f"{ALL}/{row.pk}", b"", ""), 404, "not_found")
    assert api.send("DELETE", f"{ALL}/{row.pk}", b"", "").status_code == 204
    assert not Conversation.objects.filter(pk=row.pk).exists()
